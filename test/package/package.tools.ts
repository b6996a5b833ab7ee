import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.js";
import { type Installed, install, ours, root, sizeOf } from "./installed.js";

/** Maximum disk usage in bytes: the package with its dependencies, and a clone after `npm ci`. */
const MOST = { package: 40 * 1024 ** 2, clone: 154 * 1024 ** 2 };

const readme = readFileSync(join(root, "README.md"), "utf8");

let installed: Installed;
beforeAll(() => {
  installed = install();
}, 300_000);
afterAll(() => installed?.remove());

/** The pages that a reader follows to a first agent. */
const pages = ["docs/get-started.md", "docs/serving.md"]
  .map((page) => readFileSync(join(root, page), "utf8"))
  .join("\n");

/** The files that they show, by the name before each of them. */
const shown = [...pages.matchAll(/`([\w.-]+\.ts)`[^`]*:\n\n```ts\n([\s\S]*?)^```/gm)].map(
  ([, name = "", text = ""]) => ({ name, text }),
);

/** Runs a program of the tools that `npm run test:tools` installs. */
function tool(name: string, args: readonly string[], cwd: string): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync(name, args, { cwd, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}${error ?? ""}` };
}

describe("the package", () => {
  it("is light, with all that it depends on", () => {
    expect(installed.bytes).toBeLessThan(MOST.package);
  });

  it("needs no script of the install, of its own or of what it depends on: npm would warn, or not run it", () => {
    const read = (path: string): unknown => JSON.parse(readFileSync(join(installed.folder, path), "utf8"));
    const { packages } = read("node_modules/.package-lock.json") as { packages: Record<string, object> };
    expect(Object.keys(packages)).toContain("node_modules/jose");
    expect(Object.keys(packages).filter((name) => "hasInstallScript" in (packages[name] ?? {}))).toEqual([]);
    const { scripts } = read("node_modules/parley-a2a/package.json") as { scripts: Record<string, string> };
    expect(Object.keys(scripts).filter((name) => /^((pre|post)?install|(pre|post)?prepare)$/.test(name))).toEqual([]);
  });

  it("has every file that its README refers to", () => {
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(5);
    const missing = links.filter(
      (path) => !installed.files.some((file) => file === path || file.startsWith(`${path}/`)),
    );
    expect(missing).toEqual([]);
  });

  it("has no tests, no bench and nothing that belongs to a checkout", () => {
    const allowed =
      /^(dist\/(src|contract|gen|web|console)\/|proto\/|docs\/|examples\/|templates\/|deploy\/|src\/core\/limits\.ts$|package\.json$|LICENSE$|llms\.txt$|[A-Z]+\.md$)/;
    expect(installed.files.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it("is sound by the rules of publint", () => {
    expect(tool("publint", ["run", installed.tarball, "--strict"], root)).toMatchObject({ status: 0 });
  });

  it("has the types of every entry point where TypeScript looks for them", () => {
    // CommonJS has `import()`: the package is of modules only.
    const { status, output } = tool("attw", [installed.tarball, "--profile", "esm-only", "--no-emoji"], root);
    expect(status, output).toBe(0);
  });

  it("has its command", () => {
    const command = join(installed.folder, "node_modules", ".bin", "parley");
    const { status, output } = tool(command, ["--version"], installed.folder);
    expect({ status, output }).toEqual({ status: 0, output: `${version()}\n` });
  });
});

function version(): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
}

describe("the first install of a clone", () => {
  it("is light: what few need comes with the commands that need it", () => {
    const { bytes, files } = sizeOf(join(root, "node_modules"));
    expect(bytes).toBeLessThan(MOST.clone);
    expect(files).toBeLessThan(8_450);
  });
});

describe("what the first pages show", () => {
  /** Ports of the pages, and free ones in their place. */
  const ports = new Map<string, number>();

  beforeAll(async () => {
    for (const port of ["8080", "50051"]) ports.set(port, await freePort());
    for (const { name, text } of shown) {
      const path = join(installed.folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(
        path,
        text.replace(/\b(8080|50051)\b/g, (port) => `${ports.get(port)}`),
      );
    }
  });

  it("is a file with a name, every piece of it", () => {
    expect(shown.length).toBe([...pages.matchAll(/^```ts$/gm)].length);
    expect(shown.map(({ name }) => name)).toEqual(["agent.ts", "agent.test.ts", "server.ts"]);
  });

  it("satisfies the compiler at its strictest, with the package's own types", () => {
    const config = {
      compilerOptions: {
        target: "es2023",
        module: "nodenext",
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        noEmit: true,
        types: ["node"],
        typeRoots: [join(ours("@types/node"), "..")],
      },
      files: shown.map(({ name }) => name),
    };
    writeFileSync(join(installed.folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(ours("typescript"), "bin", "tsc");
    const { status, output } = tool(process.execPath, [compiler, "-p", "."], installed.folder);
    expect(status, output).toBe(0);
  });

  const loader = pathToFileURL(join(ours("tsx"), "dist", "loader.mjs")).href;

  it("tests its agent as printed", () => {
    const { status, output } = tool(process.execPath, ["--import", loader, "agent.test.ts"], installed.folder);
    expect(status, output).toBe(0);
    expect(output).toMatch(/pass 1\b/);
  });

  it("says how it is run: a file that is there, on the command line or with tsx", () => {
    const said = [...pages.matchAll(/`npx (?:tsx|parley serve) (?:\.\/)?([\w.]+)`/g)].map(([, name = ""]) => name);
    expect([...new Set(said)].sort()).toEqual(["agent.test.ts", "agent.ts", "server.ts"]);
    // Node.js 22.18 and later need no tsx for a module.
    if (!(process.features as { typescript?: unknown }).typescript) {
      symlinkSync(ours("tsx"), join(installed.folder, "node_modules", "tsx"), "junction");
    }
  });

  it.each([
    [
      "npx parley serve ./agent.ts",
      [join("node_modules", "parley-a2a", "dist", "src", "cli", "main.js"), "serve", "./agent.ts"],
    ],
    ["npx tsx server.ts", ["--import", loader, "server.ts"]],
  ])("runs as printed: %s", async (name, args) => {
    const env = { ...process.env, PARLEY_PORT: `${ports.get("8080")}`, PARLEY_GRPC_PORT: `${ports.get("50051")}` };
    const child = spawn(process.execPath, args, { cwd: installed.folder, env });
    let stderr = "";
    child.stderr.on("data", (text) => (stderr += String(text)));
    child.stdout.resume();
    const exit = once(child, "exit");
    try {
      const url = `http://127.0.0.1:${ports.get("8080")}`;
      await expect
        .poll(
          () =>
            fetch(`${url}/.well-known/agent-card.json`).then(
              ({ ok }) => ok,
              () => stderr,
            ),
          { timeout: 60_000 },
        )
        .toBe(true);
      const message = { messageId: name, role: "ROLE_USER", parts: [{ text: "One. Two! Three?" }] };
      const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(call),
      });
      expect(await response.json()).toMatchObject({
        result: {
          task: {
            status: { state: "TASK_STATE_COMPLETED" },
            artifacts: [{ name: "sentences", parts: [{ text: "One. " }, { text: "Two! " }, { text: "Three?" }] }],
          },
        },
      });
      child.kill("SIGTERM");
      // The command line logs; a program of one's own says nothing.
      const complaints = stderr.split("\n").filter((line) => line !== "" && !line.startsWith('{"level":30,'));
      expect([await exit, complaints]).toEqual([[0, null], []]);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
