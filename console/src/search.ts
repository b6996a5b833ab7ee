/** Returns a reader of the part of a URL after `?` that keeps these names where they have a text. */
export function optional<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [Each in Name]?: string | undefined } => {
    const read: { [Each in Name]?: string } = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === "string" && value !== "") read[name] = value;
      else if (typeof value === "number" || typeof value === "boolean") read[name] = String(value);
    }
    return read;
  };
}

/** The same for numbers that are not negative. */
export function optionalNumber<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [Each in Name]?: number | undefined } => {
    const read: { [Each in Name]?: number } = {};
    for (const name of names) {
      const value = Number(search[name] ?? Number.NaN);
      if (Number.isSafeInteger(value) && value >= 0) read[name] = value;
    }
    return read;
  };
}
