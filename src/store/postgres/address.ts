/** Schema of the tables if the address names none. */
export const DEFAULT_SCHEMA = "parley";

/** True for the address of a PostgreSQL database. */
export function isAddress(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** True for a name that needs no quotes in SQL. */
export function isSchema(name: string): boolean {
  return /^[a-z_][a-z0-9_]{0,39}$/.test(name);
}

/** Takes the schema out of an address that names it. Options that have a schema keep that one. */
export function withSchema<T extends { readonly url: string; readonly schema?: string }>(options: T): T {
  const [, before = "", schema = "", after = ""] =
    /^([^?]*\?(?:.*&)?)schema=([^&]*)&?(.*)$/.exec(options.url ?? "") ?? [];
  if (schema === "") return options;
  return { schema: decodeURIComponent(schema), ...options, url: before + after };
}
