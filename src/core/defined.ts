/** Returns a value that the caller knows to exist, such as an element below the length of its array. */
export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError("a value is missing");
  return value;
}
