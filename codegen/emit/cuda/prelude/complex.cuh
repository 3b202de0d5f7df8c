struct __align__($A) dst_$S { $P re, im; };
__device__ __forceinline__ dst_$S operator+(dst_$S x, dst_$S y) { dst_$S z = {x.re + y.re, x.im + y.im}; return z; }
__device__ __forceinline__ dst_$S operator-(dst_$S x, dst_$S y) { dst_$S z = {x.re - y.re, x.im - y.im}; return z; }
__device__ __forceinline__ dst_$S operator-(dst_$S x) { dst_$S z = {-x.re, -x.im}; return z; }
__device__ __forceinline__ dst_$S &operator+=(dst_$S &x, dst_$S y) { return x = x + y; }
__device__ __forceinline__ bool operator==(dst_$S x, dst_$S y) { return x.re == y.re && x.im == y.im; }
__device__ __forceinline__ bool operator!=(dst_$S x, dst_$S y) { return !(x == y); }
__device__ __forceinline__ dst_$S dst_make_$S($P re, $P im) { dst_$S z = {re, im}; return z; }
