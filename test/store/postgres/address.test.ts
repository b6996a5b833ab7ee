import { describe, expect, it } from "vitest";
import { readAddress, serversOf, shownAddress } from "../../../src/store/postgres/address.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { programs, thePostgres } from "./server.js";

describe("readAddress()", () => {
  it.each([
    ["postgres://h/d", "postgres://h/d", {}],
    ["postgres://h/d?sslmode=require", "postgres://h/d?sslmode=require", {}],
    ["postgres://h/d?schema=x", "postgres://h/d?", { schema: "x" }],
    ["postgres://h/d?a=%20&schema=x&b=1", "postgres://h/d?a=%20&b=1", { schema: "x" }],
    ["postgres://h/d?require=local&prepared=true", "postgres://h/d?", { require: "local", prepared: true }],
    ["postgres://h/d?prepared=false&connections=5", "postgres://h/d?", { prepared: false, connections: 5 }],
    ["postgres://h/d?prepared=no&connections=5.5", "postgres://h/d?", { prepared: "no", connections: "5.5" }],
    ["postgres://h/d?myschema=x&host=%2Frun", "postgres://h/d?myschema=x&host=%2Frun", {}],
    ["postgres://h/d?schema=%zz", "postgres://h/d?", { schema: "%zz" }],
  ])("takes the options of the store out of %s", (address, url, named) => {
    expect(readAddress(address)).toEqual({ url, named });
  });

  it("leaves the addresses of several servers without them", () => {
    const { url } = readAddress("postgres://a,b/d?require=local&sslmode=disable&connections=7");
    expect(serversOf(url)).toEqual(["postgres://a/d?sslmode=disable", "postgres://b/d?sslmode=disable"]);
    expect(shownAddress("postgres://h/d?require=local&schema=s")).toBe("postgres://h/d, schema s");
  });
});

describe("postgresStore()", () => {
  it.each([
    ["require=most", 'require is "most", not "none", "local" or "replicated"'],
    ["require=", 'require is "", not "none", "local" or "replicated"'],
    ["prepared=no", 'prepared is "no", not true or false'],
    ["connections=2", "connections is 2, not a whole number from 3 to 1000"],
    ["connections=many", 'connections is "many", not a whole number from 3 to 1000'],
    ["schema=No", 'schema is "No", not lower-case letters'],
  ])("rejects an address with %s, and names the option", async (query, message) => {
    const opened = postgresStore(`postgres://localhost:1/x?${query}`);
    await expect(opened).rejects.toMatchObject({ kind: "failed", message: expect.stringContaining(message) });
  });

  it.skipIf(programs() === undefined)("prefers the options in code to those of the address", async () => {
    const { url } = thePostgres();
    const named = `${url}&require=replicated&connections=2&prepared=no&schema=No`;
    await expect(postgresStore(named)).rejects.toMatchObject({ kind: "failed" });
    const store = await postgresStore({
      ...{ url: named, require: "none", connections: 3, prepared: false, schema: "given" },
    });
    await store.close();
    await expect(postgresStore(`${url}&require=replicated&schema=given`)).rejects.toThrow(
      'The store requires durability "replicated".',
    );
  });
});
