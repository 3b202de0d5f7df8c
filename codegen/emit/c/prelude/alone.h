/* Iterations of a loop that this stands in are not merged: gcc would unroll the loop and jam the
 * copies of a loop inside it into one, which gathers the rows that coordinates pick, or have a loop of few iterations in lanes. */
#define dst_alone() __asm__ volatile("")
