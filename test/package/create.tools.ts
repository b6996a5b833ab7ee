import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { templates } from "../../src/cli/authors/templates.js";
import { freePort } from "../support/free-port.js";
import { root } from "./installed.js";

const run = promisify(execFile);

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
const packages = [manifestOf("."), manifestOf("create")];

let work: string;
let registry: Server;
/** Environment of a user whose npm has this registry and an empty cache. */
let env: NodeJS.ProcessEnv;

/** Serves the packed packages, and sends npm to the configured registry for all others. */
async function serveRegistry(): Promise<void> {
  const { stdout } = await run("npm", ["config", "get", "registry"], { cwd: root });
  const upstream = stdout.trim().replace(/\/$/, "");
  registry = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/");
    const found = packages.find(({ name }) => path === `/${name}` || path.startsWith(`/${name}/-/`));
    if (found === undefined) return void response.writeHead(307, { location: upstream + request.url }).end();
    const bytes = readFileSync(tarballOf(found));
    if (path !== `/${found.name}`) return void response.end(bytes);
    const { name, version } = found;
    const { port } = registry.address() as AddressInfo;
    const dist = {
      tarball: `http://127.0.0.1:${port}/${name}/-/${name}-${version}.tgz`,
      integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
    };
    const document = { name, "dist-tags": { latest: version }, versions: { [version]: { ...found, dist } } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
  }).listen(0, "127.0.0.1");
  await once(registry, "listening");
}

const tarballOf = ({ name, version }: { readonly name: string; readonly version: string }): string =>
  join(work, `${name}-${version}.tgz`);

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "parley-create-"));
  for (const folder of [".", "create"]) {
    const args = ["pack", "--ignore-scripts", "--pack-destination", work];
    await run("npm", args, { cwd: join(root, folder) });
  }
  await serveRegistry();
  const { port } = registry.address() as AddressInfo;
  // The npm that runs the tests passes its own settings on.
  const others = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  env = {
    ...Object.fromEntries(others),
    ...{ npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: join(work, "cache") },
    ...{ npm_config_audit: "false", npm_config_fund: "false", npm_config_update_notifier: "false" },
  };
});
afterAll(() => {
  registry?.close();
  if (work !== undefined) rmSync(work, { recursive: true, force: true });
});

let server: ChildProcess | undefined;
afterEach(() => {
  // npm, its shell and the server are a group.
  if (server?.pid !== undefined && server.exitCode === null) process.kill(-server.pid, "SIGKILL");
  server = undefined;
});

/** A message to an agent of each template, and its answer. */
const talks: Readonly<Record<string, readonly [text: string, answer: RegExp]>> = {
  plain: ["One. Two!", /Two!/],
  express: ["One. Two!", /Two!/],
  fastify: ["One. Two!", /Two!/],
  "ai-sdk": ["What is the weather in Oslo?", /It is sunny in Oslo\./],
};

describe("create-parley-a2a", () => {
  it("has the version of the package that it depends on", () => {
    const [own, create] = packages;
    expect(create).toMatchObject({ version: own?.version, dependencies: { "parley-a2a": own?.version } });
  });
});

describe("npm create parley-a2a", { timeout: 300_000 }, () => {
  it.each(Object.keys(templates))(
    "makes a project that is checked, tested, served and called: %s",
    async (template) => {
      const folder = join(work, `of-${template}`);
      mkdirSync(folder);
      const create = ["create", "-y", "parley-a2a@latest", "my-agent", "--", "--template", template, "--yes"];
      const created = await run("npm", create, { cwd: folder, env });
      expect(created.stdout).toContain("  cd my-agent\n  npm install\n  npm run dev\n");
      const cwd = join(folder, "my-agent");
      await run("npm", ["install"], { cwd, env });
      await run("npm", ["run", "check"], { cwd, env });
      expect((await run("npm", ["test"], { cwd, env })).stdout).toMatch(/pass [12]\b/);

      const port = await freePort();
      const ports = { PORT: `${port}`, PARLEY_PORT: `${port}`, PARLEY_GRPC_PORT: "off" };
      server = spawn("npm", ["start"], { cwd, env: { ...env, ...ports }, detached: true, stdio: "ignore" });
      const card = (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`).then(
          ({ ok }) => ok,
          () => false,
        );
      await expect.poll(card, { timeout: 60_000 }).toBe(true);
      const [text, answer] = talks[template] ?? ["", /^$/];
      const sent = await run("npx", ["parley", "send", "-a", `localhost:${port}`, text], { cwd, env });
      expect(sent.stdout).toMatch(/State: COMPLETED/);
      expect(sent.stdout).toMatch(answer);
    },
  );
});
