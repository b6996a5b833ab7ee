import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main } from "../cli/cli.js";
import { root } from "../e2e/support/build.js";
import { type Child, Children } from "./support/children.js";
import { freePorts, program } from "./support/site.js";
import { run, succeed } from "./support/tool.js";

const probe = join(root, "dist/examples/probe/agent.js");
const deploy = join(root, "deploy");
const patient = { timeout: 30_000 };
const text = (path: string): string => readFileSync(join(deploy, path), "utf8");

const clusters = [
  "kubernetes/parley.yaml",
  "kubernetes/replicas.yaml",
  "compose/compose.yaml",
  "compose/replicas.yaml",
];

let folder: string;
const children = new Children();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-deploy-"));
  await program("systemd-analyze", "systemd", "--version");
});

afterAll(async () => {
  await children.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a program that ends with the tests. @returns its growing output */
const start = (command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Child =>
  children.start(folder, [command, ...args], env);

it("waits in Kubernetes until no proxy sends calls to a pod that ends", () => {
  const [, seconds] = /preStop:\s+exec: \{ command: \[sleep, "(\d+)"\] \}/.exec(text("kubernetes/parley.yaml")) ?? [];
  expect(Number(seconds)).toBeGreaterThanOrEqual(5);
});

describe("systemd", () => {
  it("accepts the units, and finds less than 2.0 exposed", async () => {
    const units = join(folder, "units");
    mkdirSync(units);
    for (const name of readdirSync(join(deploy, "systemd")))
      copyFileSync(join(deploy, "systemd", name), join(units, name));
    const unit = join(units, "parley@.service");
    const sockets = ["http", "grpc"].map((name) => join(units, `parley-${name}.socket`));
    const { code, stderr } = await run("systemd-analyze", ["verify", unit, ...sockets]);
    // The machine that checks the unit may lack its program.
    const faults = stderr.split("\n").filter((line) => line !== "" && !/Command .* is not executable/.test(line));
    expect([code === 0 || stderr.includes("not executable"), faults]).toEqual([true, []]);
    const rated = await succeed("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit]);
    expect(Number(/Overall exposure level for [^:]*: ([\d.]+)/.exec(rated)?.[1])).toBeLessThan(2);
  });

  it("sets only variables that Parley knows", async () => {
    const known = await succeed(process.execPath, [main, "serve", "--help"]);
    const limits = await succeed(process.execPath, [main, "limits"]);
    const files = ["systemd/parley@.service", "Containerfile", ...clusters];
    const names = files.flatMap((file) => [...text(file).matchAll(/\bPARLEY_[A-Z_]+/g)].map(([name]) => name));
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((name) => !`${known}${limits}`.includes(name))).toEqual([]);
  });

  it("lets the server ask for the machine's own addresses, which webhooks must not reach", () => {
    const [, families = ""] = /^RestrictAddressFamilies=(.*)$/m.exec(text("systemd/parley@.service")) ?? [];
    expect(families.split(" ")).toEqual(["AF_INET", "AF_INET6", "AF_NETLINK", "AF_UNIX"]);
  });

  it("names its sockets as the server expects, and creates its user", async () => {
    for (const name of ["http", "grpc"]) {
      expect(text(`systemd/parley-${name}.socket`)).toMatch(new RegExp(`^FileDescriptorName=${name}$`, "m"));
    }
    const system = join(folder, "system");
    mkdirSync(join(system, "etc"), { recursive: true });
    await succeed("systemd-sysusers", [`--root=${system}`, join(deploy, "systemd/parley.sysusers.conf")]);
    expect(readFileSync(join(system, "etc/passwd"), "utf8")).toMatch(/^parley:.*:\/var\/lib\/parley:/m);
  });

  it("hands its sockets over: systemd-socket-activate starts the server with the first connection", async () => {
    const { http, grpc } = await freePorts();
    const sockets = ["-l", `127.0.0.1:${http[0]}`, "-l", `127.0.0.1:${grpc[0]}`, "--fdname=http:grpc"];
    const command = [process.execPath, main, "serve", probe, "--store", "memory"];
    const { said } = start("systemd-socket-activate", [...sockets, ...command]);
    await expect.poll(said, patient).toContain("Listening on");
    expect(said()).not.toContain("is ready");
    const answer = await fetch(`http://127.0.0.1:${http[0]}/readyz`);
    expect(await answer.json()).toEqual({ status: "ready" });
    await expect.poll(said, patient).toContain(`gRPC   127.0.0.1:${grpc[0]}`);
  });

  it("is told that the server is ready, reloads and stops", async () => {
    const receiver = `
import os, socket, sys
path = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(path)
print("bound", flush=True)
while True: print(s.recv(4096).decode().strip(), flush=True)`;
    const path = join(folder, "notify.sock");
    const told = start("python3", ["-c", receiver, path]);
    await expect.poll(told.said, patient).toContain("bound");
    const flags = ["--port", "0", "--grpc-port", "off", "--store", "memory", "--audit", join(folder, "audit.log")];
    const server = start(process.execPath, [main, "serve", probe, ...flags], { NOTIFY_SOCKET: path });
    await expect.poll(told.said, patient).toContain("READY=1");
    server.child.kill("SIGHUP");
    await expect.poll(told.said, patient).toMatch(/RELOADING=1\n(.*\n)*READY=1/);
    const exited = once(server.child, "exit");
    server.child.kill("SIGTERM");
    await expect.poll(told.said, patient).toContain("STOPPING=1");
    expect(await exited).toEqual([0, null]);
  });
});

/** The commands of a Containerfile: that of its health check and its main one. */
const commandsOf = (path: string): string[][] =>
  [...text(path).matchAll(/CMD (\[.*\])$/gm)].map(([, json = ""]) => JSON.parse(json) as string[]);

/** The arguments of Node.js in a health check, which does not use the server's NODE_OPTIONS. */
function afterNode(health: readonly string[] = []): readonly string[] {
  expect(health.slice(0, 4)).toEqual(["env", "-u", "NODE_OPTIONS", "node"]);
  return health.slice(4);
}

describe("the Containerfile", () => {
  it("copies what npm ci reads where no tarball is beside it", async () => {
    await program("buildah", "buildah", "--version");
    const storage = ["--storage-driver", "vfs", "--root", join(folder, "images"), "--runroot", join(folder, "run")];
    const application = mkdtempSync(join(folder, "application-"));
    const read = ["package.json", "package-lock.json"];
    for (const name of [...read, "agent.js"]) writeFileSync(join(application, name), "{}");
    const copy = /^COPY package.*$/m.exec(text("Containerfile"))?.[0];
    // test/interop/image.interop.ts builds the complete image, with a tarball.
    writeFileSync(join(folder, "Copy"), `FROM scratch\nWORKDIR /app\n${copy}\n`);
    const flags = ["--isolation", "chroot", "-q", "-f", join(folder, "Copy"), application];
    const image = (await succeed("buildah", [...storage, "bud", ...flags])).trim();
    const container = (await succeed("buildah", [...storage, "from", image])).trim();
    const mounted = (await succeed("buildah", [...storage, "mount", container])).trim();
    expect(readdirSync(join(mounted, "app")).sort()).toEqual(read.sort());
  });

  it("needs no writable place but the volume, and no privilege: its commands start a healthy server", async ({
    skip,
  }) => {
    const mounts = await run("unshare", ["--mount", "true"]);
    skip(mounts.code !== 0, "Mount namespaces are not allowed here.");
    const [health] = commandsOf("Containerfile");
    const data = mkdtempSync(join(folder, "data-"));
    chmodSync(folder, 0o711);
    chownSync(data, 1000, 1000);
    const { http } = await freePorts();
    const flags = ["--port", String(http[0]), "--grpc-port", "off", "--store", join(data, "tasks.db")];
    // Runs as in the image: as another user without capabilities, in a tree that is read-only except for the volume.
    const sealed = `
      mount --bind ${root} /mnt && mount --bind ${data} ${data} && mount -o remount,bind,ro / || exit 1
      cd /mnt && ! touch /etc/written 2>/dev/null || exit 1
      exec setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"`;
    const serve = [process.execPath, "dist/src/cli/main.js", "serve", "dist/examples/probe/agent.js", ...flags];
    const { said } = start("unshare", ["--mount", "--propagation", "private", "sh", "-c", sealed, "sh", ...serve]);
    await expect.poll(said, patient).toContain("is ready");
    const script = afterNode(health).map((part) => part.replace("8080", String(http[0])));
    expect((await run(process.execPath, script)).code).toBe(0);
    expect(statSync(join(data, "tasks.db")).uid).toBe(1000);
  });

  it("has a check that fails before the server is ready, and copies nothing secret", async () => {
    const file = text("Containerfile");
    const [health, command] = commandsOf("Containerfile");
    expect(file).toMatch(/^USER 1000:1000$/m);
    expect(file).toMatch(/^HEALTHCHECK --interval=\d+s .*\\\n {2}CMD \[/m);
    expect(command).toEqual(["node", "node_modules/.bin/parley", "serve", "agent.js"]);
    const ignored = text("Containerfile.dockerignore").split("\n");
    expect(ignored).toEqual(expect.arrayContaining(["**/.env*", "**/admin-tokens*", "**/*-key.pem"]));
    const { http } = await freePorts();
    const script = afterNode(health).map((part) => part.replace("8080", String(http[0])));
    expect((await run(process.execPath, script)).code).toBe(1);
    const flags = ["--port", String(http[0]), "--grpc-port", "off", "--store", "memory"];
    const { said } = start(process.execPath, [main, "serve", probe, ...flags]);
    await expect.poll(said, patient).toContain("is ready");
    expect((await run(process.execPath, script)).code).toBe(0);
  });
});
