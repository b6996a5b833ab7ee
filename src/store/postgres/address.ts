import { withoutSecrets } from "../../core/net.js";
import { aBoolean, aText, aWholeNumber, type OptionChecks, oneOf, optionFaults } from "../../core/options.js";
import { StoreError } from "../task-store.js";

/** Schema of the tables if the address names none. */
export const DEFAULT_SCHEMA = "parley";

/** True for the address of a PostgreSQL database. */
export function isAddress(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** Names of schemas, for errors. */
const SCHEMA_NAMES = "lower-case letters, digits and _, at most 40, and no schema of PostgreSQL itself";

/** True for a name that needs no quotes in SQL and is not one of the database itself. */
function isSchema(name: string): boolean {
  return /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,39}$/.test(name);
}

/** Options of the store in the query of an address, as `readAddress` returns them, unchecked. */
interface Named {
  schema?: string;
  require?: string;
  prepared?: string | boolean;
  connections?: string | number;
}

/** Separates the options of the store in an address from the part for the driver. */
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

/**
 * The failures that an acknowledged append survives.
 * - `replicated`: on this server and on at least one standby.
 * - `local`: on this server's disk, after a crash of its machine. A failover to a standby may lose the last seconds.
 * - `none`: a crash of the server or of its machine may lose the last appends.
 */
export type Durability = "replicated" | "local" | "none";

/** Levels of durability, the lowest first. */
export const LEVELS: readonly Durability[] = ["none", "local", "replicated"];

/** Options that an address may name. */
interface NamedOptions {
  readonly schema?: string;
  readonly require?: Durability;
  readonly prepared?: boolean;
  readonly connections?: number;
}

/** Checks of the options that an address may name. */
export const namedChecks: OptionChecks<NamedOptions> = {
  schema: aText(SCHEMA_NAMES, isSchema),
  require: oneOf(LEVELS),
  prepared: aBoolean(),
  connections: aWholeNumber(3, 1_000),
};

/** Returns the schema of an address, and the address for the driver. @throws StoreError `failed` for a wrong option */
export function schemaOf(address: string): { readonly url: string; readonly schema: string } {
  const { url, named } = readAddress(address);
  const faults = optionFaults(named, namedChecks);
  if (faults.length > 0) throw new StoreError("failed", `The address of the database is wrong: ${faults.join("; ")}.`);
  return { url, schema: named.schema ?? DEFAULT_SCHEMA };
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
