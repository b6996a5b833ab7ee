import { availableParallelism } from "node:os";
import { anything } from "../core/options.js";
import { choice, list, type OptionKind, text, wholeNumber, yesNo } from "../server/option-kinds.js";
import type { OptionRow } from "../server/option-table.js";
import type { DriverName } from "../store/sqlite/driver/driver.js";

/** Options of `parley serve` only; a program that embeds Parley does the same in code. */
export interface CommandOptions {
  /**
   * SQLite file of the tasks, or the address of a PostgreSQL database (`postgres://…`; docs/store-postgres.md); `memory`
   * keeps them until the process ends. Default `parley.db`.
   */
  readonly store: string;
  /**
   * Driver of SQLite: `node:sqlite` or `@photostructure/sqlite`. Default: Node.js itself from 22.13 on, otherwise the
   * package `@photostructure/sqlite`.
   */
  readonly sqliteDriver: DriverName;
  /**
   * `auto` migrates the tables of an older release at the start; `check` refuses to start until `parley migrate` has
   * migrated them. Default `auto`.
   */
  readonly migrate: "auto" | "check";
  /**
   * Address of a NATS server through which servers with the same store announce changes to each other:
   * `nats://user:password@host:4222?prefix=name` (docs/signals.md). Default: through PostgreSQL.
   */
  readonly signals: string;
  /** Lets several servers use the file at the same time; all of them need this option. Default: off. */
  readonly shared: boolean;
  /**
   * Number of processes that serve the same ports and tasks (docs/workers.md), or `cores`: one for each core of the
   * machine. Default 1.
   */
  readonly workers: number;
  /**
   * Address of the operator's service (docs/admin.md): `host:port`, or `unix:` and the path of a socket. Default: none.
   */
  readonly admin: string;
  /** File of the operators' tokens (`admin.tokensFile`). A port needs one; a socket may do without. */
  readonly adminTokens: string;
  /** Folder for backups that operators make. Default: none may be made. */
  readonly adminBackups: string;
  /**
   * File of the certificate chain (PEM) for TLS on both ports, with `tlsKey`. TLS files are read again when they
   * change, and at SIGHUP. Default: cleartext.
   */
  readonly tlsCert: string;
  /** File of the private key of the certificate (PEM), without a passphrase. */
  readonly tlsKey: string;
  /** File of the authorities of client certificates (PEM). Default: clients are not asked for a certificate. */
  readonly tlsCa: string;
  /** Files of the private keys that sign cards (PKCS #8 in PEM, or JWK), instead of the module's. See `cardSigning`. */
  readonly cardKey: readonly string[];
  /** URL of the JWKS that card signatures name. Default: that of this server, if its URL is `https`. */
  readonly cardJku: string;
  /** Allows `http` webhooks. This flag and the other `push…` flags need `push`, and override the module. */
  readonly pushAllowHttp: boolean;
  /** Ports of webhooks; with `pushAllowHttp` also 80 unless they are set. Default 443. */
  readonly pushPorts: readonly string[];
  /**
   * Hosts of webhooks that are allowed although they are not public: names, `*.example.com`, addresses, networks.
   * Default: none.
   */
  readonly pushAllow: readonly string[];
  /** Hosts to which push notifications are never sent. Default: none. */
  readonly pushDeny: readonly string[];
  /** Events to send: `task`, `status`, `artifact`, `last-chunk`, and states such as `completed`. Default: all. */
  readonly pushEvents: readonly string[];
  /**
   * Keys that encrypt stored secrets of push notifications, 32 bytes as base64 or hexadecimal text: files, or variables
   * as `env:NAME`. The first one encrypts new secrets. Default: secrets are stored in clear text.
   */
  readonly pushEncryptionKey: readonly string[];
  /** Files of the private keys that sign push notifications by JWT (PEM or JWK). Default: no JWT. */
  readonly pushSigningKey: readonly string[];
  /** Secrets of Standard Webhooks signatures: files, or variables as `env:NAME`. Default: no such signature. */
  readonly pushWebhookSecret: readonly string[];
  /** File of the authorities of webhooks (PEM). Default: those of the system. */
  readonly pushTlsCa: string;
  /** File of the client certificate for webhooks (PEM), with `pushTlsKey`. Default: none. */
  readonly pushTlsCert: string;
  /** File of the private key of that certificate (PEM), without a passphrase. */
  readonly pushTlsKey: string;
  /**
   * File of the audit log, one JSON object per line; `stderr`, or `off` for none. At SIGHUP it is opened again.
   * Default: in the log, unless that is on a terminal.
   */
  readonly audit: string;
  /** Lowest level that is logged to stderr. Default `info`. */
  readonly logLevel: LogLevel;
  /** Format of the log: `pretty` for people, `json` for programs. Default: `pretty` on a terminal, otherwise `json`. */
  readonly logFormat: LogFormat;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
export type LogFormat = "auto" | "pretty" | "json";

export const defaultCommandOptions: Pick<
  CommandOptions,
  "store" | "migrate" | "shared" | "workers" | "logLevel" | "logFormat"
> = {
  store: "parley.db",
  migrate: "auto",
  shared: false,
  workers: 1,
  logLevel: "info",
  logFormat: "auto",
};

/** Maximum number of processes of one server. */
const MOST_WORKERS = 256;

const processCount = wholeNumber(1, MOST_WORKERS);

const processes: OptionKind<number> = {
  ...processCount,
  read: (text) => {
    if (text === "cores") return Math.min(MOST_WORKERS, availableParallelism());
    if (!/^\d{1,15}$/.test(text)) throw new RangeError("It is neither a whole number nor cores.");
    return processCount.read?.(text) ?? 1;
  },
};

const file: OptionKind<string> = text("<file>");
/** Comma-separated texts. The code that uses them checks their values. */
const strings = (placeholder: string): OptionKind<readonly string[]> => list(placeholder, anything());

export const commandTable: { readonly [K in keyof CommandOptions]: OptionRow<CommandOptions[K]> } = {
  store: { kind: file, help: "SQLite file for the tasks, or postgres://…; memory keeps them until the process ends" },
  sqliteDriver: {
    kind: choice<DriverName>(["node:sqlite", "@photostructure/sqlite"], "<name>"),
    help: "driver of SQLite",
    otherwise: "node:sqlite from Node.js 22.13 on",
  },
  migrate: {
    kind: choice(["auto", "check"], "<mode>"),
    help: "migrate an older store at the start (auto) or refuse to start on it (check); see parley migrate",
  },
  signals: {
    kind: text("<url>"),
    help: "NATS server through which servers with the same store announce changes: nats://…",
    otherwise: "through PostgreSQL",
  },
  shared: { kind: yesNo, help: "let several servers use the file; all of them need this option" },
  workers: { kind: processes, help: "processes that serve the same ports and tasks; cores: one for each core" },
  admin: {
    kind: text("<address>"),
    help: "address of the operator's service: host:port, or unix: and a path",
  },
  adminTokens: { kind: file, help: "file of the operators' tokens; a port needs one" },
  adminBackups: { kind: text("<folder>"), help: "folder for backups that operators make" },
  tlsCert: { kind: file, help: "certificate chain (PEM), for TLS on both ports", otherwise: "cleartext" },
  tlsKey: { kind: file, help: "private key of the certificate (PEM)", otherwise: "none" },
  tlsCa: { kind: file, help: "CA certificates for client certificates (PEM)", otherwise: "none" },
  cardKey: { kind: strings("<files>"), help: "private keys that sign cards (PEM or JWK), separated by commas" },
  cardJku: {
    kind: text("<url>"),
    help: "URL of the JWKS that card signatures name",
    otherwise: "that of this server, if its URL is https",
  },
  pushAllowHttp: { kind: yesNo, help: "allow webhooks with http URLs (all --push-... options need --push)" },
  pushPorts: { kind: strings("<ports>"), help: "ports that webhooks may have", otherwise: "443" },
  pushAllow: { kind: strings("<hosts>"), help: "hosts and networks of webhooks that are allowed although not public" },
  pushDeny: { kind: strings("<hosts>"), help: "hosts and networks of webhooks that are never allowed" },
  pushEvents: {
    kind: strings("<events>"),
    help: "events to send to webhooks, such as status,artifact",
    otherwise: "all",
  },
  pushEncryptionKey: {
    kind: strings("<files>"),
    help: "keys that encrypt stored secrets of webhooks (32 bytes, base64 or hex), the current one first; or env:NAME",
  },
  pushSigningKey: { kind: strings("<files>"), help: "private keys that sign push notifications by JWT (PEM or JWK)" },
  pushWebhookSecret: {
    kind: strings("<files>"),
    help: "secrets of Standard Webhooks signatures (whsec_, whsk_); or env:NAME",
  },
  pushTlsCa: { kind: file, help: "CA certificates of webhooks (PEM)", otherwise: "those of the system" },
  pushTlsCert: { kind: file, help: "client certificate for webhooks (PEM)", otherwise: "none" },
  pushTlsKey: { kind: file, help: "private key of that certificate (PEM)", otherwise: "none" },
  audit: {
    kind: file,
    help: "destination of the audit log: a file, stderr or off",
    otherwise: "in the log, unless that is on a terminal",
  },
  logLevel: {
    kind: choice(["debug", "info", "warn", "error", "silent"], "<level>"),
    help: "lowest level that is logged to stderr",
  },
  logFormat: {
    kind: choice(["auto", "pretty", "json"], "<format>"),
    help: "format of the log, for people or for programs; auto: pretty on a terminal",
  },
};
