import { withoutSecrets } from "../../core/net.js";

/** Schema of the tables if the address names none. */
export const DEFAULT_SCHEMA = "parley";

/** True for the address of a PostgreSQL database. */
export function isAddress(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** Names of schemas, for errors. */
export const SCHEMA_NAMES = "lower-case letters, digits and _, at most 40, and no schema of PostgreSQL itself";

/** True for a name that needs no quotes in SQL and is not one of the database itself. */
export function isSchema(name: string): boolean {
  return /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,39}$/.test(name);
}

/** Options of the store that the query of an address may name, as they are after `readAddress`, unchecked. */
interface Named {
  schema?: string;
  require?: string;
  prepared?: string | boolean;
  connections?: string | number;
}

/** Takes the options of the store out of an address that names them; the driver gets the rest. */
export function readAddress(address: string): { readonly url: string; readonly named: Readonly<Named> } {
  const [place = "", query] = address.split(/\?(.*)/s);
  const named: Named = {};
  const rest = query?.split("&").filter((pair) => {
    const [[name, value] = ["", ""]] = new URLSearchParams(pair);
    if (name === "schema" || name === "require") named[name] = value;
    else if (name === "prepared") named.prepared = value === "true" || (value === "false" ? false : value);
    else if (name === "connections") named.connections = /^\d+$/.test(value) ? Number(value) : value;
    else return true;
    return false;
  });
  return { url: rest === undefined ? place : `${place}?${rest.join("&")}`, named };
}

/** An address with its database and schema, and without its secrets. @param schema if the address names none */
export function shownAddress(address: string, schema: string = DEFAULT_SCHEMA): string {
  const { url, named } = readAddress(address);
  const [place = "", query = ""] = url.split(/\?(.*)/s);
  const hosts = new URLSearchParams(query).get("host");
  return `${withoutSecrets(place)}${hosts === null ? "" : ` at ${hosts}`}, schema ${named.schema ?? schema}`;
}

/** The addresses of the servers that one address names, as libpq reads it: `host1:5432,host2`, or `?host=a,b&port=1,2`. */
export function serversOf(url: string): string[] {
  const [, scheme = "", user = "", authority = "", rest = ""] = /^(\w+:\/\/)([^/?]*@)?([^/?]*)(.*)$/.exec(url) ?? [];
  const [path = "", query = ""] = rest.split(/\?(.*)/);
  const parameters = new URLSearchParams(query);
  // The store always needs a server that takes writes.
  parameters.delete("target_session_attrs");
  const lists = { host: parameters.get("host")?.split(","), port: parameters.get("port")?.split(",") };
  const named = authority.split(",");
  const count = Math.max(named.length, lists.host?.length ?? 1);
  if (count === 1) return [url];
  return Array.from({ length: count }, (_, index) => {
    const own = new URLSearchParams(parameters);
    for (const name of ["host", "port"] as const) {
      const value = lists[name]?.[index] ?? lists[name]?.[0];
      if (value !== undefined) own.set(name, value);
    }
    const given = own.size > 0 ? `?${own}` : "";
    return `${scheme}${user}${named[index] ?? named[0]}${path}${given}`;
  });
}

/** The servers of an address, one of which is used until it fails. */
export class Servers {
  readonly #all: readonly string[];
  #index = 0;

  constructor(url: string) {
    this.#all = serversOf(url);
  }

  get count(): number {
    return this.#all.length;
  }

  /** Address of the server to connect to. */
  get current(): string {
    return this.#all[this.#index] ?? "";
  }

  /** Chooses the next server, unless another call has already left `failed`. */
  failOver(failed: string): void {
    if (failed === this.current) this.#index = (this.#index + 1) % this.#all.length;
  }
}
