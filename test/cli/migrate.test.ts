import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { SCHEMA_VERSION as POSTGRES_VERSION } from "../../src/store/postgres/migrations.js";
import { sqliteDriver } from "../../src/store/sqlite/driver/choose.js";
import { migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrations.js";
import { PostgresServer, programs } from "../store/postgres/server.js";
import { probe, ready, workplaces } from "./cli.js";

describe("parley migrate", { timeout: 60_000 }, () => {
  const place = workplaces();
  const outcome = async (...args: string[]): Promise<unknown> => {
    const started = place.run(args);
    return { code: await started.exited, stdout: started.stdout(), stderr: started.stderr() };
  };
  const older = (name: string): void => {
    const db = sqliteDriver().open(join(place.path, name));
    migrate(db, SCHEMA_VERSION - 2);
    db.close();
  };

  it("creates a file, brings an older one to the current schema, and leaves a current one", async () => {
    expect(await outcome("migrate")).toEqual({
      ...{ code: 2, stdout: "" },
      stderr: "parley: parley.db does not exist: name the store to migrate, or to create, by --store (PARLEY_STORE)\n",
    });
    expect(existsSync(join(place.path, "parley.db"))).toBe(false);
    expect(await outcome("migrate", "--store", "parley.db")).toMatchObject({
      ...{ code: 0, stdout: `parley.db: created, version 0 to ${SCHEMA_VERSION}\n` },
    });
    expect(await outcome("migrate")).toMatchObject({ code: 0 });
    older("old.db");
    expect(await outcome("migrate", "--store", "old.db")).toMatchObject({
      ...{ code: 0, stdout: `old.db: migrated, version ${SCHEMA_VERSION - 2} to ${SCHEMA_VERSION}\n` },
    });
    const current = { code: 0, stdout: `old.db: is up to date, version ${SCHEMA_VERSION}\n`, stderr: "" };
    expect(await outcome("migrate", "--store", "old.db")).toEqual(current);
  });

  it("unblocks a server that must not migrate", async () => {
    older("old.db");
    const serve = ["serve", probe, "--port", "0", "--grpc-port", "0", "--migrate", "check"];
    for (const name of ["old.db", "missing.db"]) {
      expect(await outcome(...serve, "--store", name)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`Run "parley migrate --store ${name}" first.`),
      });
    }
    expect(existsSync(join(place.path, "missing.db"))).toBe(false);
    await outcome("migrate", "--store", "old.db");
    const server = await ready(place.run([...serve, "--store", "old.db"]));
    // The server still has the file open.
    expect(await outcome("migrate", "--store", "old.db")).toMatchObject({ code: 0 });
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });

  it("rejects anything but a store, and prints no secret", async () => {
    expect(await outcome("migrate", "--store", "memory")).toMatchObject({ code: 2, stdout: "" });
    const places = [
      ["mysql://ann:hunter2@localhost/x", 2],
      ["postgres://ann:hunter2@localhost:1/x?password=hunter2", 75],
      ["postgres://ann:hunter2@nowhere.invalid/x", 75],
      ["postgres://ann:hunter2@local host:99999/x", 2],
      ["postgres://ann:hunter2@localhost/x?schema=No%20schema", 2],
      ["postgres://ann:hunter2@localhost/x?schema=information_schema", 2],
    ] as const;
    for (const [place, code] of places) {
      const ended = await outcome("migrate", "--store", place);
      expect([place, ended]).toMatchObject([place, { code, stdout: "" }]);
      expect(JSON.stringify(ended)).not.toContain("hunter2");
      expect((ended as { stderr: string }).stderr.split("\n")).toHaveLength(2);
    }
  });

  it("shows no login of an address with a mistake, as other commands do not", { timeout: 60_000 }, async () => {
    const serve = ["serve", probe, "--port", "0", "--grpc-port", "off"];
    const runs: (readonly [string[], string])[] = [
      [serve, "mysql://"],
      [serve, " postgres://"],
      [["migrate"], " POSTGRES://"],
      [["tasks", "list"], "postgres://"],
    ];
    const endings = runs.map(([command, start]) => outcome(...command, "--store", `${start}ann:hunter2@localhost/x`));
    for (const ended of await Promise.all(endings)) {
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect((ended as { stderr: string }).stderr).toMatch(
        /^parley: --store: \S*\u2026@localhost\/x is (?:neither a postgres:\/\/ address nor|not) a file.*\n$/,
      );
    }
  });

  const bin = programs();
  describe.skipIf(bin === undefined)("on PostgreSQL", () => {
    const server = bin === undefined ? (undefined as never) : new PostgresServer(bin);
    afterAll(() => server.end());

    it("creates the schema that a server with --migrate check needs", async () => {
      const store = `${server.url}&schema=named`;
      const shown = `postgres://…@localhost/postgres at ${server.folder}, schema named`;
      const serve = ["serve", probe, "--port", "0", "--grpc-port", "0", "--migrate", "check", "--store", store];
      expect(await outcome(...serve)).toMatchObject({ code: 2, stderr: expect.stringContaining('"parley migrate"') });
      expect(await outcome("migrate", "--store", store)).toMatchObject({
        ...{ code: 0, stdout: `${shown}: created, version 0 to ${POSTGRES_VERSION}\n` },
      });
      expect(await outcome("migrate", "--store", store)).toMatchObject({
        ...{ code: 0, stdout: `${shown}: is up to date, version ${POSTGRES_VERSION}\n`, stderr: "" },
      });
      const started = await ready(place.run(serve));
      expect(started.stdout()).toContain(`Tasks  ${shown}\n`);
      started.child.kill("SIGTERM");
      expect(await started.exited).toBe(0);
    });

    it("starts a server with the options of its address, or refuses to", async () => {
      const serve = (query: string): string[] => {
        const store = `${server.url}&schema=options&${query}`;
        return ["serve", probe, "--port", "0", "--grpc-port", "0", "--store", store];
      };
      expect(await outcome(...serve("require=replicated"))).toMatchObject({
        ...{ code: 2, stdout: "", stderr: expect.stringContaining('The store requires durability "replicated".') },
      });
      expect(await outcome(...serve("prepared=perhaps"))).toMatchObject({
        ...{ code: 2, stderr: expect.stringContaining('prepared is "perhaps", not true or false') },
      });
      const started = await ready(place.run(serve("prepared=false&connections=5&require=local")));
      expect(started.stdout()).toMatch(/^ +Tasks .*, schema options$/m);
      started.child.kill("SIGTERM");
      expect(await started.exited).toBe(0);
    });

    it("distinguishes a wrong role, password or database from an unreachable database", async () => {
      await server.query("CREATE ROLE locked LOGIN PASSWORD 'right'");
      const rules = join(server.folder, "data", "pg_hba.conf");
      writeFileSync(rules, `local all locked scram-sha-256\n${readFileSync(rules, "utf8")}`);
      await server.query("SELECT pg_reload_conf()");
      const at = (user: string, database: string): string =>
        `postgres://${user}@localhost/${database}?host=${encodeURIComponent(server.folder)}`;
      const wrong = [
        [["serve", probe, "--store", at("locked:hunter2", "postgres")], "28P01"],
        [["serve", probe, "--store", at("postgres", "nowhere")], "3D000"],
        [["migrate", "--store", at("nobody", "postgres")], "28000"],
        [["store", "copy", at("nobody", "postgres"), "new.db"], "28000"],
      ] as const;
      for (const [args, code] of wrong) {
        const ended = await outcome(...args);
        expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(`(${code}). Check role`) });
        expect(JSON.stringify(ended)).not.toContain("hunter2");
      }
    });
  });
});
