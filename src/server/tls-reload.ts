import type { Audit } from "../audit/audit.js";
import { ConfigurationError } from "../card/faults.js";
import { background } from "../core/async.js";
import type { Logger } from "../core/log.js";
import type { TlsFiles } from "../http/node/tls.js";
import { tlsFaults, tlsWarnings } from "./tls.js";

/** Files of a TLS server, as PEM. They are checked every 10 seconds and used as soon as they have changed. */
export interface TlsPaths {
  readonly keyFile: string;
  readonly certFile: string;
  /** Authorities of client certificates; see `ca`. */
  readonly caFile?: string;
}

/** Reads the files. @throws the system's error if a file cannot be read. */
export function readTls(tls: TlsFiles | TlsPaths): TlsFiles {
  if (!("keyFile" in tls)) return tls;
  const { keyFile, certFile, caFile } = tls;
  const ca = caFile === undefined ? {} : { ca: readPem(caFile) };
  return { key: readPem(keyFile), cert: readPem(certFile), ...ca };
}

function readPem(path: string): Buffer {
  // Not imported, because runtimes without files load this module too.
  const { readFileSync, statSync } = process.getBuiltinModule("node:fs");
  // A pipe without a writer would block the process, and any pipe is empty when it is read again.
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`);
  return readFileSync(path);
}

interface TlsKeeperOptions {
  /** The files with which the ports were opened. */
  readonly files: TlsFiles;
  /** Their paths; undefined if the contents were given. */
  readonly paths: TlsPaths | undefined;
  /** Functions that make a port use other files for new connections. */
  readonly ports: readonly ((files: TlsFiles) => void)[];
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
}

/** Time between two checks of the files. */
export const tlsPoll = { intervalMs: 10_000 } as const;

/** Time between warnings about a certificate that expires soon, in milliseconds. */
const DAY_MS = 24 * 3_600_000;

/**
 * Keeps the TLS files of a server's ports up to date. Changed files are used for new connections; open connections are
 * not affected. Unusable files change nothing.
 */
export class TlsKeeper {
  readonly #options: TlsKeeperOptions;
  readonly #poll: NodeJS.Timeout | undefined;
  readonly #daily: NodeJS.Timeout;
  #paths: TlsPaths | undefined;
  #files: TlsFiles;
  /** The fault at the last check, and whether it was reported. */
  #fault = { text: "", isReported: true };

  constructor(options: TlsKeeperOptions) {
    this.#options = options;
    this.#files = options.files;
    this.#paths = options.paths;
    if (options.paths !== undefined) this.#poll = background(setInterval(() => this.#check(), tlsPoll.intervalMs));
    this.#daily = background(setInterval(() => this.#warn(), DAY_MS));
    this.#auditExpiry();
  }

  /**
   * Uses these files, or reads the current files again.
   *
   * @throws ConfigurationError for unusable files. Nothing has changed then.
   */
  reload(given?: TlsFiles | TlsPaths): void {
    const source = given ?? this.#paths;
    const faults = source === undefined ? ["tls was given as contents, not as files: give the new contents"] : [];
    try {
      if (source !== undefined) this.#use(readTls(source));
      if (given !== undefined) this.#paths = "keyFile" in given ? given : undefined;
    } catch (error) {
      faults.push(fileFault(error));
    }
    if (faults.length === 0) return;
    this.#reportFault(faults.join("; "));
    throw new ConfigurationError("The new TLS files cannot be used; the previous ones stay in use", faults);
  }

  end(): void {
    clearInterval(this.#poll);
    clearInterval(this.#daily);
  }

  /**
   * Checks the files. A fault is reported only if the next check finds it too, because two files are never written at
   * once.
   */
  #check(): void {
    if (this.#paths === undefined) return;
    try {
      const files = readTls(this.#paths);
      if (!areSame(files, this.#files)) this.#use(files);
      this.#fault = { text: "", isReported: true };
    } catch (error) {
      const text = fileFault(error);
      if (text !== this.#fault.text) this.#fault = { text, isReported: false };
      else if (!this.#fault.isReported) {
        this.#fault = { text, isReported: true };
        this.#reportFault(text);
      }
    }
  }

  /** @throws Error that names the faults of the files. */
  #use(files: TlsFiles): void {
    const faults = [...tlsFaults(files)];
    if ((files.ca === undefined) !== (this.#files.ca === undefined)) {
      faults.push(
        "tls: adding or removing ca needs a restart, because it changes whether clients are asked for certificates",
      );
    }
    if (faults.length > 0) throw new Error(faults.join("; "));
    for (const port of this.#options.ports) port(files);
    this.#files = files;
    const { logger, audit } = this.#options;
    logger.info({}, "new TLS files are used for new connections");
    audit?.record({ event: "tls.reloaded" });
    this.#warn();
  }

  #reportFault(fault: string): void {
    const { logger, audit } = this.#options;
    logger.error({ fault }, "new TLS files cannot be used; the previous ones stay in use");
    audit?.record({ event: "tls.reload-failed" });
  }

  #warn(): void {
    for (const warning of tlsWarnings(this.#files)) this.#options.logger.warn({}, warning);
    this.#auditExpiry();
  }

  #auditExpiry(): void {
    if (tlsWarnings(this.#files).length > 0) this.#options.audit?.record({ event: "tls.expiring" });
  }
}

function fileFault(error: unknown): string {
  const { code, path, message } = error as NodeJS.ErrnoException;
  return path === undefined ? message : `${path} cannot be read (${code})`;
}

function areSame(one: TlsFiles, other: TlsFiles): boolean {
  const all = (["key", "cert", "ca"] as const).map((name) => [one[name], other[name]] as const);
  return all.every(([a, b]) =>
    a === undefined ? b === undefined : b !== undefined && Buffer.from(a).equals(Buffer.from(b)),
  );
}
