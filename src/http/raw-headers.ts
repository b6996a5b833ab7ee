/**
 * The values of a header, of names and values that alternate as they arrived. Node.js keeps the first of those that are to be there
 * once, such as `Authorization` and `Host`, and drops the others.
 */
export function valuesIn(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i] as string;
    if (each.length === name.length && each.toLowerCase() === name) values.push(rawHeaders[i + 1] as string);
  }
  return values;
}

/** The same, joined by commas. Two credentials are then of no form, rather than the first of them (RFC 9110, 5.3, 11.6.2). */
export function allValues(rawHeaders: readonly string[], name: string): string {
  return valuesIn(rawHeaders, name).join(", ");
}
