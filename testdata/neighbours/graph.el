#networkx
# GMT
#
0 1
0 3
2 3
3 0
