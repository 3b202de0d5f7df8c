package kernels

import _ "distaff/kernels/mapguard" // leaves read mapped files: one that shrinks is an error, not a crash
