import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { PostgresServer, programs } from "../store/postgres/server.js";
import { probe, ready, workplaces } from "./cli.js";

const bin = programs();

describe("parley store copy of a store in use", { timeout: 60_000 }, () => {
  const place = workplaces();

  it("names the server that has the file open, and advises to end it", async () => {
    const server = await ready(place.run(["serve", probe, "--port", "0", "--grpc-port", "0", "--store", "open.db"]));
    for (const args of [
      ["store", "copy", "open.db", "new.db"],
      ["store", "copy", "new.db", "open.db"],
    ]) {
      const copying = place.run(args);
      expect(await copying.exited).toBe(2);
      expect(copying.stderr()).not.toContain("--shared");
      if (args[2] === "open.db") expect(copying.stderr()).toContain("has it open for itself alone. End it first.");
    }
    expect(existsSync(join(place.path, "new.db"))).toBe(false);
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });

  it.skipIf(bin === undefined)("says at once for how long it watches a database", async () => {
    const database = new PostgresServer(bin ?? "");
    afterAll(() => database.end());
    const ports = ["--port", "0", "--grpc-port", "0"];
    const server = await ready(place.run(["serve", probe, ...ports, "--store", database.url, "--lease", "1s"]));
    const copying = place.run(["store", "copy", database.url, "new.db"]);
    expect(await copying.exited).toBe(2);
    const [, watching, failed] = copying.stderr().split("\n");
    expect(watching).toMatch(/^watching postgres:.*, schema parley for 16 seconds, to see whether a server uses it$/);
    expect(failed).toContain("A server uses");
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });
});
