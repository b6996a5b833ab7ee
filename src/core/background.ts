/** Lets a process end although this timer waits. Timers of some runtimes are numbers, and keep nothing alive. */
export function background(timer: NodeJS.Timeout): NodeJS.Timeout {
  timer.unref?.();
  return timer;
}
