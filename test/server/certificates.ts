import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate with its key, as PEM. */
export interface Pair {
  readonly key: string;
  readonly cert: string;
}

const config = `[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
[any]
commonName = supplied
`;

/** Options of a certificate. */
interface Making {
  /** As `YYYYMMDDHHMMSSZ`. */
  readonly from?: string;
  readonly to?: string;
  /** As openssl names keys. Default: ec, whose keys take a fraction of the time. */
  readonly kind?: "ec" | "rsa:2048";
  /** Issuer. Default: the certificate signs itself. */
  readonly by?: Pair;
  /** Allowed usage, in openssl's words. Default: any. */
  readonly usage?: string;
}

/** Makes certificates with openssl, in a directory that `clean` removes. */
export class Certificates {
  readonly #path = mkdtempSync(join(tmpdir(), "parley-tls-"));

  clean(): void {
    rmSync(this.#path, { recursive: true, force: true });
  }

  /** Makes a certificate for a name. */
  make(name: string, making: Making = {}): Pair {
    const { from = "20200101000000Z", to = "21200101000000Z", kind = "ec", by, usage } = making;
    for (const [file, text] of [
      ["index.txt", ""],
      ["serial", "01"],
      ["ca.cnf", config],
      ["authority.cert", by?.cert ?? ""],
      ["authority.key", by?.key ?? ""],
      ["usage.cnf", usage === undefined ? "" : `extendedKeyUsage = ${usage}\n`],
    ] as const) {
      writeFileSync(join(this.#path, file), text);
    }
    const curve = kind === "ec" ? ["-pkeyopt", "ec_paramgen_curve:P-256"] : [];
    this.#openssl(
      "req",
      "-new",
      "-newkey",
      kind,
      ...curve,
      "-nodes",
      "-keyout",
      "key",
      "-out",
      "csr",
      "-subj",
      `/CN=${name}`,
    );
    const dates = ["-startdate", from, "-enddate", to];
    const signer = by === undefined ? ["-selfsign", "-keyfile", "key"] : ["-cert", "authority.cert"];
    this.#openssl(
      "ca",
      "-batch",
      "-config",
      "ca.cnf",
      ...signer,
      ...(by === undefined ? [] : ["-keyfile", "authority.key"]),
      ...(usage === undefined ? [] : ["-extfile", "usage.cnf"]),
      "-in",
      "csr",
      ...dates,
      "-out",
      "cert",
      "-notext",
    );
    return { key: readFileSync(join(this.#path, "key"), "utf8"), cert: readFileSync(join(this.#path, "cert"), "utf8") };
  }

  #openssl(...args: string[]): void {
    execFileSync("openssl", args, { cwd: this.#path, stdio: "pipe" });
  }
}
