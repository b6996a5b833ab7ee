import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { pathOf, programOf, supported } from "../nodes/versions.js";
import { freePorts, program } from "./support/site.js";
import { persistently, succeed } from "./support/tool.js";

/**
 * The image of deploy/Containerfile, built with all steps and run. Its base image is made here, because no registry is
 * available.
 */

const BASE = "docker.io/library/node:22-bookworm-slim";
const patient = { timeout: 60_000 };

let folder: string;
let storage: readonly string[];
let tarball: string;
let server: ChildProcess | undefined;

const buildah = (...args: readonly string[]): Promise<string> => succeed("buildah", [...storage, ...args]);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-image-"));
  storage = ["--storage-driver", "vfs", "--root", join(folder, "images"), "--runroot", join(folder, "run")];
  await program("buildah", "buildah", "--version");
  await program("busybox", "busybox-static", "--help");
  await makeBase();
  await build();
}, 600_000);

afterAll(async () => {
  if (server?.pid !== undefined && server.exitCode === null && server.signalCode === null) {
    process.kill(-server.pid, "SIGKILL");
    await once(server, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Creates the base image from Node.js, npm and the few programs that the Containerfile runs. */
async function makeBase(): Promise<void> {
  const context = join(folder, "base");
  const within = (...path: string[]): string => join(context, ...path);
  for (const path of ["bin", "usr/bin", "usr/local/bin", "usr/local/etc", "usr/local/lib/node_modules", "tmp", "etc"])
    mkdirSync(within(path), { recursive: true });
  const version = supported.find(({ node }) => node.startsWith("22."))!;
  const node = programOf(version.node);
  const npm = join(pathOf(version)[1] ?? "", "..", "npm");
  copyFileSync(node, within("usr/local/bin/node"));
  cpSync(npm, within("usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", within("usr/local/bin/npm"));
  copyFileSync((await succeed("which", ["busybox"])).trim(), within("bin/busybox"));
  for (const name of ["sh", "mkdir", "chown"]) symlinkSync("busybox", within("bin", name));
  symlinkSync("/bin/busybox", within("usr/bin/env"));
  for (const [library] of (await succeed("ldd", [node])).matchAll(/\/\S+/g)) {
    mkdirSync(within(dirname(library)), { recursive: true });
    copyFileSync(library, within(library));
  }
  writeFileSync(within("etc/passwd"), "root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n");
  const authority = (await succeed("npm", ["config", "get", "cafile"])).trim();
  if (existsSync(authority)) {
    copyFileSync(authority, within("etc/authority.pem"));
    writeFileSync(within("usr/local/etc/npmrc"), "cafile=/etc/authority.pem\n");
  }
  const file = join(folder, "Base");
  writeFileSync(file, "FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n");
  await buildah("bud", "--isolation", "chroot", "-q", "-t", BASE, "-f", file, context);
}

/** Builds the image of an application that contains the package as a tarball. */
async function build(): Promise<void> {
  const application = join(folder, "application");
  mkdirSync(application);
  tarball = (await succeed("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", application])).trim();
  const dependencies = { "parley-a2a": `file:${tarball}` };
  writeFileSync(join(application, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  const card = { name: "Image", description: "Runs in a container.", version: "1.0.0", skills: [] };
  const execute = 'async *execute() { yield reply("from the image"); }';
  writeFileSync(
    join(application, "agent.js"),
    `import { reply } from "parley-a2a";\nexport const agent = { card: ${JSON.stringify(card)}, responds: "message", ${execute} };\n`,
  );
  for (const secret of [".env", "admin-tokens", "parley.token", "card-key.pem", "push-key.txt", "push.secret"]) {
    writeFileSync(join(application, secret), "SECRET=1\n");
  }
  // A binary of the building machine, which may have another architecture.
  mkdirSync(join(application, "node_modules/foreign"), { recursive: true });
  copyFileSync((await succeed("which", ["busybox"])).trim(), join(application, "node_modules/foreign/binary.node"));
  const lock = ["install", "--package-lock-only", "--no-audit", "--no-fund"];
  await persistently(() => succeed("npm", lock, { cwd: application }));
  const flags = ["--isolation", "chroot", "--format", "docker", "--pull=never", "-q", "-t", "agent"];
  const files = [
    "-f",
    join(root, "deploy/Containerfile"),
    "--ignorefile",
    join(root, "deploy/Containerfile.dockerignore"),
  ];
  await persistently(() => buildah("bud", ...flags, ...files, application));
}

/** Files below a folder that contain machine code of one architecture. */
function binariesIn(at: string): string[] {
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1")));
}

describe("the Containerfile", () => {
  it("is built for every architecture of its base, which is of none", () => {
    const lines = readFileSync(join(root, "deploy/Containerfile"), "utf8").replaceAll("\\\n", "").split("\n");
    const version = lines.find((line) => line.startsWith("ARG NODE="))?.slice("ARG NODE=".length);
    expect(`docker.io/library/node:${version}`).toBe(BASE);
    // The base has neither a platform nor a digest, which might belong to one architecture.
    for (const line of lines.filter((each) => each.startsWith("FROM"))) {
      expect(line).toMatch(/^FROM node:\$\{NODE\}( AS packages)?$/);
    }
    const instructions = lines.filter((line) => /^(?!#|LABEL)/.test(line)).join("\n");
    expect(instructions).not.toMatch(/amd64|arm64|aarch64|x86|x64|TARGETARCH|BUILDPLATFORM|--platform/i);
    expect(instructions).not.toMatch(/\b(ADD|curl|wget)\b/);
  });
});

describe("the image of the Containerfile", () => {
  it("adds no machine code to its base, nor packages of the machine that builds it", async () => {
    const container = (await buildah("from", "--pull=never", "agent")).trim();
    const application = join((await buildah("mount", container)).trim(), "app");
    expect(readdirSync(join(application, "node_modules"))).not.toContain("foreign");
    expect(binariesIn(application)).toEqual([]);
  });

  it("adds less than 40 MB to its base, and runs as a user without rights", async () => {
    const images = JSON.parse(await buildah("inspect", "--type", "image", "agent")) as { Docker: { config: object } };
    expect(images.Docker.config).toMatchObject({
      User: "1000:1000",
      StopSignal: "SIGTERM",
      Volumes: { "/data": {} },
      Healthcheck: { Test: expect.arrayContaining(["CMD", "node"]), Retries: 3 },
    });
    const sizes = JSON.parse(await buildah("images", "--json")) as { names?: string[]; size: string }[];
    const megabytes = (name: string): number =>
      Number.parseFloat(sizes.find(({ names }) => names?.some((each) => each.includes(name)))?.size ?? "");
    expect(megabytes("agent") - megabytes("bookworm")).toBeGreaterThan(5);
    expect(megabytes("agent") - megabytes("bookworm")).toBeLessThan(40);
  });

  it("has no file that holds secrets, and starts a healthy server that stores tasks on its volume", async () => {
    const container = (await buildah("from", "--pull=never", "agent")).trim();
    // Tests check the exit code, because the output of a short-lived program is sometimes lost.
    const inside = (...command: string[]): Promise<string> =>
      buildah("run", "--isolation", "chroot", container, "--", ...command);
    const mounted = (await buildah("mount", container)).trim();
    const files = ["agent.js", "node_modules", "package-lock.json", "package.json", tarball];
    expect(readdirSync(join(mounted, "app")).toSorted()).toEqual(files.toSorted());
    const { http } = await freePorts();
    const address = [`PARLEY_PORT=${http[0]}`, "PARLEY_HOST=127.0.0.1", "PARLEY_GRPC_PORT=off"];
    const { Docker } = JSON.parse(await buildah("inspect", "agent")) as Inspected;
    const { Cmd, Healthcheck } = Docker.config;
    const command = [
      "run",
      "--isolation",
      "chroot",
      ...address.flatMap((each) => ["-e", each]),
      container,
      "--",
      ...Cmd,
    ];
    server = spawn("buildah", [...storage, ...command], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
    const url = `http://127.0.0.1:${http[0]}`;
    const readiness = (): Promise<number> =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(readiness, patient).toBe(200);
    const health = Healthcheck.Test.slice(1).map((part) => part.replace("8080", String(http[0])));
    await inside(...health);
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
    expect(await answer.text()).toContain("from the image");
    await inside("node", "-e", "process.exit(fs.statSync('/data/tasks.db').uid === 1000 ? 0 : 1)");
  });
});

/** The used fields of `buildah inspect`. */
interface Inspected {
  readonly Docker: { readonly config: { readonly Cmd: string[]; readonly Healthcheck: { readonly Test: string[] } } };
}
