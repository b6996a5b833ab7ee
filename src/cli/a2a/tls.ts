import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { ClientTls } from "../../client/platform.js";
import { messageIn } from "../../core/members.js";
import { usage } from "./errors.js";
import type { Scope } from "./scope.js";

/** Reads the PEM files of `--cert`, `--cert-key` and `--ca`. @throws Failure for files that cannot be used */
export function tlsOf({ settings, io }: Pick<Scope, "settings" | "io">): ClientTls | undefined {
  const { cert, certKey, ca } = settings;
  if (cert === undefined && certKey === undefined && ca === undefined) return undefined;
  if ((cert === undefined) !== (certKey === undefined)) {
    throw usage(cert === undefined ? "--cert-key needs --cert" : "--cert needs --cert-key");
  }
  const read = (flag: string, path: string): string => {
    try {
      const from = path.startsWith("~/") && io.home !== undefined ? join(io.home, path.slice(2)) : path;
      return readFileSync(resolve(io.cwd, from), "utf8");
    } catch (error) {
      throw usage(`${flag}: ${messageIn(error)}`);
    }
  };
  const tls = {
    ...(cert !== undefined &&
      certKey !== undefined && { cert: read("--cert", cert), key: read("--cert-key", certKey) }),
    ...(ca !== undefined && { ca: read("--ca", ca) }),
  };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw usage(`--cert, --cert-key, --ca: ${messageIn(error)}`, "give PEM files, and a key without a passphrase");
  }
  return tls;
}
