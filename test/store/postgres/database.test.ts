import type { Client } from "pg";
import { expect, it, vi } from "vitest";
import { silentLogger } from "../../../src/core/log.js";
import { Database } from "../../../src/store/postgres/database.js";

it("a reader whose transaction cannot begin ends its connection", async () => {
  const options = { connections: 3, timeoutMs: 1_000, prepared: true, logger: silentLogger };
  const database = await Database.open({ url: "postgres://localhost/none", ...options });
  const end = vi.fn(async () => {});
  const client = { query: () => Promise.reject(new Error("gone")), end };
  vi.spyOn(database, "connection").mockResolvedValue(client as unknown as Client);
  await expect(database.reader()).rejects.toMatchObject({ message: expect.stringContaining("gone") });
  expect(end).toHaveBeenCalledOnce();
  await database.close();
});
