/** Returns the result of work; if it throws, that of `failed`: undefined without one. */
export function attempt<T, F = undefined>(work: () => T, failed?: (error: unknown) => F): T | F {
  try {
    return work();
  } catch (error) {
    return failed?.(error) as F;
  }
}
