import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { ClientTls } from "../../client/platform.js";
import { attempt } from "../../core/members.js";
import { usage, usageOf } from "./errors.js";
import type { Scope } from "./scope.js";

/** Reads the PEM files of `--cert`, `--cert-key` and `--ca`. @throws Failure for files that cannot be used */
export function tlsOf({ settings, io }: Pick<Scope, "settings" | "io">): ClientTls | undefined {
  const { cert, certKey, ca } = settings;
  if (cert === undefined && certKey === undefined && ca === undefined) return undefined;
  if ((cert === undefined) !== (certKey === undefined)) {
    throw usage(cert === undefined ? "--cert-key needs --cert" : "--cert needs --cert-key");
  }
  const read = (flag: string, path: string): string => {
    const from = path.startsWith("~/") && io.home !== undefined ? join(io.home, path.slice(2)) : path;
    const file = resolve(io.cwd, from);
    return attempt(
      () => {
        // Reading a pipe without a writer never ends. It would also be empty when it is read again.
        if (!statSync(file).isFile()) throw new Error(`${file} is not a file`);
        return readFileSync(file, "utf8");
      },
      usageOf(`${flag}: `),
    );
  };
  const tls = {
    ...(cert !== undefined &&
      certKey !== undefined && { cert: read("--cert", cert), key: read("--cert-key", certKey) }),
    ...(ca !== undefined && { ca: read("--ca", ca) }),
  };
  const hint = "give PEM files, and a key without a passphrase";
  attempt(() => createSecureContext(tls), usageOf("--cert, --cert-key, --ca: ", hint));
  return tls;
}
