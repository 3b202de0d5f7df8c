static void dst_free_table(dst_env *env, dst_array *table, int64_t n, int64_t size) {
    if (!table)
        return;
    for (int64_t i = 0; i < n; i++)
        dst_release(env, table[i].ptr, table[i].len, size);
    dst_release(env, table, n, sizeof(dst_array));
}
