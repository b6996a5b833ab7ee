import { choice, list, type OptionKind, text, yesNo } from "../server/option-kinds.js";
import type { OptionRow } from "../server/option-table.js";
import type { DriverName } from "../store/sqlite/driver/driver.js";

/** Options of `parley serve` only; a program that embeds Parley does the same in code. */
export interface CommandOptions {
  /** SQLite file for the tasks; `memory` keeps them until the process ends. Default `parley.db`. */
  readonly store: string;
  /** Where SQLite comes from. Default: Node.js itself, from 22.13 on, otherwise the package `better-sqlite3`. */
  readonly sqliteDriver: DriverName;
  /** Lets other servers use the file at the same time, all of them with this option. Default: off. */
  readonly shared: boolean;
  /** File of the certificate chain, as PEM: TLS on both ports, with `tlsKey`. Default: cleartext. */
  readonly tlsCert: string;
  /** File of the certificate's private key, as PEM, without a passphrase. */
  readonly tlsKey: string;
  /** File of the authorities of client certificates, as PEM: clients are asked for one. Default: they are not. */
  readonly tlsCa: string;
  /**
   * Files of the private keys that sign cards (PKCS #8 in PEM, or JWK), instead of those that the module has. See `cardSigning`.
   */
  readonly cardKey: readonly string[];
  /** URL of the JWKS that signatures of cards name. Default: that of this server, where its URL is `https`. */
  readonly cardJku: string;
  /** The lowest level that is logged to stderr. Default `info`. */
  readonly logLevel: LogLevel;
  /** Format of the log: `pretty` for people, `json` for programs. Default: `pretty` on a terminal, otherwise `json`. */
  readonly logFormat: LogFormat;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
export type LogFormat = "auto" | "pretty" | "json";

export const defaultCommandOptions: Pick<CommandOptions, "store" | "shared" | "logLevel" | "logFormat"> = {
  store: "parley.db",
  shared: false,
  logLevel: "info",
  logFormat: "auto",
};

const file: OptionKind<string> = text("<file>", () => []);

export const commandTable: { readonly [K in keyof CommandOptions]: OptionRow<CommandOptions[K]> } = {
  store: { kind: file, help: "SQLite file for the tasks; memory keeps them until the end" },
  sqliteDriver: {
    kind: choice<DriverName>(["node:sqlite", "better-sqlite3"], "<name>"),
    help: "where SQLite comes from",
    otherwise: "Node.js itself, from 22.13 on",
  },
  shared: { kind: yesNo, help: "let other servers use the file too, all of them with this option" },
  tlsCert: { kind: file, help: "certificate chain (PEM), for TLS on both ports", otherwise: "cleartext" },
  tlsKey: { kind: file, help: "its private key (PEM)", otherwise: "none" },
  tlsCa: { kind: file, help: "authorities of client certificates (PEM)", otherwise: "none" },
  cardKey: { kind: list("<files>", () => []), help: "private keys that sign cards (PEM or JWK), separated by commas" },
  cardJku: {
    kind: text("<url>", () => []),
    help: "JWKS that signatures of cards name",
    otherwise: "that of this server, where its URL is https",
  },
  logLevel: {
    kind: choice(["debug", "info", "warn", "error", "silent"], "<level>"),
    help: "level of the log on stderr",
  },
  logFormat: {
    kind: choice(["auto", "pretty", "json"], "<format>"),
    help: "format of the log, for people or for programs; auto: pretty on a terminal",
  },
};
