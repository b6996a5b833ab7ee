import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../e2e/support/build.js";
import { Home, type ServerProcess } from "../../e2e/support/server-process.js";
import type { Address, Driver } from "../../support/driver.js";
import { bindings } from "../../support/drivers.js";
import { freePort } from "../../support/free-port.js";
import { apt, hasApt, run } from "./tool.js";

/** The ports of a site: those of its two servers and of the proxy in front of them. */
export interface Ports {
  readonly http: readonly [number, number];
  readonly grpc: readonly [number, number];
  /** HTTP/1.1, HTTP/2 without TLS, and TLS. */
  readonly front: { readonly http1: number; readonly http2: number; readonly tls: number };
}

export async function freePorts(): Promise<Ports> {
  const ports = new Set<number>();
  while (ports.size < 7) ports.add(await freePort());
  const [a, b, c, d, http1, http2, tls] = [...ports] as [
    ...[number, number, number, number],
    ...[number, number, number],
  ];
  return { http: [a, b], grpc: [c, d], front: { http1, http2, tls } };
}

/** Installs a Debian package unless its program exists. */
export async function program(name: string, debian: string, ...version: string[]): Promise<void> {
  const found = await run(name, version).catch(() => undefined);
  if (found !== undefined) return;
  if (!hasApt()) throw new Error(`${name} is missing, and only root can install it: apt-get install ${debian}`);
  await apt(debian);
}

/** The contents of a file in deploy/, with its paths and addresses replaced. */
export function deployed(path: string, places: Readonly<Record<string, string>>): string {
  let text = readFileSync(join(root, "deploy", path), "utf8");
  for (const [written, here] of Object.entries(places)) {
    if (!text.includes(written)) throw new Error(`deploy/${path} does not have ${written}.`);
    text = text.replaceAll(written, here);
  }
  return text;
}

/** The probe with an extended card, which clients also read over gRPC. */
const agent = `
import probe from ${JSON.stringify(join(root, "dist/examples/probe/agent.js"))};
export default { ...probe, extendedCard: { description: "Known to callers." } };
export const authenticator = { authenticate: () => ({ owner: "caller" }) };
`;

/** A foreign proxy in front of two servers that share a store. */
export class Site {
  readonly folder: string = mkdtempSync(join(tmpdir(), "parley-site-"));
  readonly ports: Ports;
  readonly #home = new Home("--shared", "--idempotent-message-ids", "--drain-delay", "2s", "--trust-proxy", "loopback");
  readonly #servers: ServerProcess[] = [];
  #proxy: ChildProcess | undefined;
  #said = "";

  constructor(ports: Ports) {
    this.ports = ports;
    this.#home.agent = join(this.folder, "agent.mjs");
    writeFileSync(this.#home.agent, agent);
  }

  /** Starts both servers and the proxy. */
  async open(command: string, args: readonly string[]): Promise<void> {
    await Promise.all([this.start(0), this.start(1)]);
    this.#proxy = spawn(command, args, { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    for (const output of [this.#proxy.stdout, this.#proxy.stderr]) {
      output?.setEncoding("utf8").on("data", (text: string) => {
        this.#said += text;
      });
    }
    for (const port of [this.ports.front.http1, this.ports.front.http2]) await this.#listens(port);
  }

  async start(which: 0 | 1): Promise<void> {
    const { http, grpc, front } = this.ports;
    const ports = ["--port", String(http[which]), "--grpc-port", String(grpc[which])];
    this.#servers[which] = await this.#home.start(...ports, "--grpc-public-url", `127.0.0.1:${front.http2}`);
  }

  /** Ends one server in order and starts another one. */
  async restart(which: 0 | 1): Promise<void> {
    const exit = await this.#servers[which]?.stop();
    if (exit?.code !== 0) throw new Error(`The server ended with ${exit?.code}: ${this.#servers[which]?.log}`);
    await this.start(which);
  }

  /** A client of each binding through the proxy. Connect and gRPC use HTTP/2. */
  drivers(): Driver[] {
    const { http1, http2 } = this.ports.front;
    const address = (port: number): Address => ({ url: `http://127.0.0.1:${port}`, grpcPort: http2 });
    return bindings.map(({ name, connect }) => connect(address(name === "connect" ? http2 : http1)));
  }

  /** The proxy's output. */
  get said(): string {
    return this.#said;
  }

  async close(): Promise<void> {
    if (this.#proxy !== undefined && this.#proxy.exitCode === null) {
      const exited = once(this.#proxy, "exit");
      this.#proxy.kill("SIGTERM");
      await exited;
    }
    await this.#home.leave();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #listens(port: number): Promise<void> {
    for (let tries = 0; tries < 500; tries++) {
      if (this.#proxy?.exitCode !== null) break;
      const socket = connect(port, "127.0.0.1");
      const open = await Promise.race([
        once(socket, "connect").then(() => true),
        once(socket, "close").then(() => false),
      ]).catch(() => false);
      socket.destroy();
      if (open) return;
      await sleep(20);
    }
    throw new Error(`The proxy does not listen on ${port}: ${this.#said}`);
  }
}

const fixture = (name: string): string => join(root, `test/fixtures/tls/${name}.pem`);

/** nginx with deploy/nginx/parley.conf on the ports of a site. @returns its arguments */
export function nginxIn({ folder, ports: { http, grpc, front } }: Site): string[] {
  const site = deployed("nginx/parley.conf", {
    "127.0.0.1:8080": `127.0.0.1:${http[0]}`,
    "127.0.0.1:8090": `127.0.0.1:${http[1]}`,
    "127.0.0.1:50051": `127.0.0.1:${grpc[0]}`,
    "127.0.0.1:50061": `127.0.0.1:${grpc[1]}`,
    "listen 443 ssl http2;": [
      `listen 127.0.0.1:${front.http1};`,
      `listen 127.0.0.1:${front.http2} http2;`,
      `listen 127.0.0.1:${front.tls} ssl http2;`,
    ].join("\n"),
    "listen [::]:443 ssl http2;": "",
    "/etc/ssl/agents.example.com.pem": fixture("cert"),
    "/etc/ssl/private/agents.example.com.key": fixture("key"),
  });
  return nginxWith(folder, site);
}

/** nginx with the configuration of a server. @returns its arguments */
export function nginxWith(folder: string, site: string): string[] {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const main = `
    daemon off;
    user root;
    worker_processes 2;
    pid ${folder}/nginx.pid;
    error_log stderr warn;
    events { worker_connections 1024; }
    http {
      access_log off;
      ${temporary.join("\n")}
      include ${folder}/site.conf;
    }`;
  writeFileSync(join(folder, "nginx.conf"), main);
  writeFileSync(join(folder, "site.conf"), site);
  for (const name of ["parley-http.inc", "parley-grpc.inc"])
    copyFileSync(join(root, "deploy/nginx", name), join(folder, name));
  return ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
}

/** Caddy with the configuration of deploy/, without TLS, on the ports of a site. @returns its arguments */
export function caddyIn({ folder, ports: { http, front } }: Site): string[] {
  const site = deployed("caddy/Caddyfile", {
    "127.0.0.1:8080": `127.0.0.1:${http[0]}`,
    "127.0.0.1:8090": `127.0.0.1:${http[1]}`,
    "agents.example.com {": `http://127.0.0.1:${front.http1}, http://127.0.0.1:${front.http2} {`,
  });
  const options = "{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2c\n\t}\n}\n";
  writeFileSync(join(folder, "Caddyfile"), options + site);
  return ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")];
}

/** Envoy with the configuration of deploy/, without TLS, on the ports of a site. @returns its arguments */
export function envoyIn({ folder, ports: { http, grpc, front } }: Site): string[] {
  const site = deployed("envoy/envoy.yaml", {
    "port_value: 8080": `port_value: ${http[0]}`,
    "port_value: 8090": `port_value: ${http[1]}`,
    "port_value: 50051": `port_value: ${grpc[0]}`,
    "port_value: 50061": `port_value: ${grpc[1]}`,
    "address: 0.0.0.0, port_value: 8443": `address: 127.0.0.1, port_value: ${front.http1}`,
  });
  writeFileSync(join(folder, "envoy.yaml"), site);
  return ["-c", join(folder, "envoy.yaml"), "--concurrency", "2", "--disable-hot-restart"];
}
