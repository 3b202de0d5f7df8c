/* Windows: vectors of 16 coordinates, or of as many values as 64 bytes hold, of whose lanes a mask says which count. These are
 * operations on them that C has no word for; size is that of a lane. */
#if defined __AVX512F__ && !defined __clang__
typedef int dst_window __attribute__((vector_size(64)));
typedef unsigned dst_keys __attribute__((vector_size(64)));
typedef long long dst_window_8 __attribute__((vector_size(64)));
#define DST_WINDOW static inline __attribute__((always_inline))

/* Reads the lanes of the mask alone; the others are 0. */
DST_WINDOW dst_window dst_load_window(const void *p, unsigned in, int size) {
    const dst_window none = {0};
    return size == 8 ? (dst_window)__builtin_ia32_loaddqudi512_mask((const long long *)p, (dst_window_8)none, (unsigned char)in)
                     : __builtin_ia32_loaddqusi512_mask((const int *)p, none, (unsigned short)in);
}

DST_WINDOW void dst_store_window(void *p, dst_window x, unsigned in, int size) {
    if (size == 8)
        __builtin_ia32_storedqudi512_mask((long long *)p, (dst_window_8)x, (unsigned char)in);
    else
        __builtin_ia32_storedqusi512_mask((int *)p, x, (unsigned short)in);
}

/* Stores the lanes of the mask one behind the other, and is how many they are. */
DST_WINDOW int dst_store_some(void *p, dst_window x, unsigned in, int size) {
    const dst_window none = {0};
    const int n = __builtin_popcount(in);
    x = size == 8 ? (dst_window)__builtin_ia32_compressdi512_mask((dst_window_8)x, (dst_window_8)none, (unsigned char)in)
                  : __builtin_ia32_compresssi512_mask(x, none, (unsigned short)in);
    dst_store_window(p, x, (1u << n) - 1, size);
    return n;
}

/* y in the lanes of the mask, x in the others. */
DST_WINDOW dst_window dst_blend(dst_window x, dst_window y, unsigned in, int size) {
    return size == 8 ? (dst_window)__builtin_ia32_blendmq_512_mask((dst_window_8)x, (dst_window_8)y, (unsigned char)in)
                     : __builtin_ia32_blendmd_512_mask(x, y, (unsigned short)in);
}

DST_WINDOW dst_window dst_least(dst_window x, dst_window y) { return __builtin_ia32_pminud512_mask(x, y, x, 0xffff); }

/* The greater ones in the lanes of the mask, the least in the others. */
DST_WINDOW dst_window dst_exchange(dst_window x, dst_window y, unsigned short in) { return __builtin_ia32_pmaxud512_mask(x, y, dst_least(x, y), in); }

/* Sorts 16 keys that ascend and then descend, or begin within such a sequence that goes round (Batcher's bitonic merge: Knuth,
 * The Art of Computer Programming, 5.3.4). */
DST_WINDOW dst_window dst_sort_bitonic(dst_window x) {
    x = dst_exchange(x, __builtin_shuffle(x, (dst_window){8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7}), 0xff00);
    x = dst_exchange(x, __builtin_shuffle(x, (dst_window){4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11}), 0xf0f0);
    x = dst_exchange(x, __builtin_shuffle(x, (dst_window){2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13}), 0xcccc);
    return dst_exchange(x, __builtin_shuffle(x, (dst_window){1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14}), 0xaaaa);
}

/* Sorts the keys of two or three windows, each of which ascends. */
DST_WINDOW void dst_sort_windows(const int of, dst_window *key) {
    const dst_window backwards = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    dst_window x = key[0], y = __builtin_shuffle(key[1], backwards);
    key[0] = dst_sort_bitonic(dst_least(x, y));
    key[1] = dst_sort_bitonic(dst_exchange(x, y, 0xffff));
    if (of < 3)
        return;
    x = key[1], y = __builtin_shuffle(key[2], backwards);
    key[2] = dst_sort_bitonic(dst_exchange(x, y, 0xffff));
    y = dst_least(x, y), x = key[0];
    key[0] = dst_sort_bitonic(dst_least(x, y));
    key[1] = dst_sort_bitonic(dst_exchange(x, y, 0xffff));
}
#endif
