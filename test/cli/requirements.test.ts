import { afterAll, describe, expect, it } from "vitest";
import { build } from "../e2e/support/build.js";
import { probe, ready, run, workplace } from "./cli.js";

build();
const { path: cwd, clean } = workplace();
afterAll(clean);

/** The environment that makes a process run a script first. */
const preload = (script: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
});

const serve = ["serve", probe, "--port", "0", "--grpc-port", "0"];

describe("parley on a Node.js that is too old", () => {
  for (const version of ["18.20.8", "20.18.3"]) {
    it(`says which one it needs, in one line (${version})`, async () => {
      const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`;
      const { stderr, exited } = run(["--help"], cwd, preload(older));
      expect(await exited).toBe(2);
      expect(stderr()).toBe(`parley: Node.js 20.19 or later is needed, and this is ${version}.\n`);
    });
  }
});

describe("parley serve and SQLite", { timeout: 30_000 }, () => {
  it("says in one line which command helps where there is none", async () => {
    const none = `
      import Module from "node:module";
      const load = Module._load;
      Module._load = function (id, ...rest) {
        if (id === "@photostructure/sqlite") throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
        return load.call(this, id, ...rest);
      };
      const { getBuiltinModule } = process;
       process.getBuiltinModule = (id) => (id === "node:sqlite" ? undefined : getBuiltinModule(id));`;
    const { stderr, exited } = run(serve, cwd, preload(none));
    expect(await exited).toBe(2);
    expect(stderr()).toMatch(
      /^parley: The SQLite store needs .*`npm install @photostructure\/sqlite@1`.*Node\.js 22\.13.*\n$/,
    );
    const other = run([...serve, "--store", "memory"], cwd, preload(none));
    const served = await ready(other);
    served.child.kill("SIGTERM");
    expect(await served.exited).toBe(0);
  });

  it("logs which one it uses, and nothing else comes on stderr", async () => {
    const served = await ready(run(serve, cwd));
    served.child.kill("SIGTERM");
    await served.exited;
    const lines = served.stderr().trim().split("\n");
    const open = lines.map((line) => JSON.parse(line)).find(({ driver }) => driver !== undefined);
    expect(open).toMatchObject({ msg: "the SQLite store is open", sqlite: expect.stringMatching(/^3\./) });
    expect(["node:sqlite", "@photostructure/sqlite"]).toContain(open.driver);
  });

  it("refuses a driver that is none", async () => {
    const { stderr, exited } = run(serve, cwd, { PARLEY_SQLITE_DRIVER: "sqlite3" });
    expect(await exited).toBe(2);
    expect(stderr()).toContain("Allowed choices are node:sqlite, @photostructure/sqlite");
  });
});
