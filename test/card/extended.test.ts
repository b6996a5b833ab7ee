import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiKeyScheme } from "../../src/auth/index.js";
import type { Agent, AuditRecord } from "../../src/index.js";
import { extendedCard as extendedCardTime } from "../../src/service/operations/extended-card.js";
import { everyBinding, type SecuredWorld, secured, titleOf } from "../auth/world.js";
import { obedient } from "../conformance/agents.js";
import { setConstantsOfFile } from "../support/constants.js";
import type { Reply } from "../support/driver.js";

/**
 * Extended cards that depend on the caller (specification 3.1.11, 13.3). The function may be slow, fail, hang or return
 * an invalid card.
 */

const owners = ["ann", "bob", "mallory", "slow", "broken", "absurd", "hanging"];
const records: AuditRecord[] = [];
let world: SecuredWorld;

const extendedCard: Agent["extendedCard"] = async ({ owner, scopes }) => {
  await new Promise((resolve) => setTimeout(resolve, owner === "slow" ? 50 : 0));
  if (owner === "broken") throw new Error("secret: the password is hunter2");
  if (owner === "absurd") return { version: "" };
  if (owner === "hanging") await new Promise(() => {});
  if (owner === "mallory") return undefined;
  return { description: `For ${owner} with ${scopes.join(", ")}.` };
};

beforeAll(async () => {
  setConstantsOfFile(extendedCardTime, { timeoutMs: 100 });
  const keys = owners.map((owner) => ({ owner, key: `key-of-${owner}`, scopes: ["read"] }));
  const schemes = {
    header: apiKeyScheme({ in: "header", name: "X-Key", keys }),
    cookie: apiKeyScheme({ in: "cookie", name: "session", keys }),
  };
  world = await secured({
    agent: { ...obedient("extended"), extendedCard, security: { schemes, require: ["header", "cookie", {}] } },
    audit: { write: (record) => void records.push(record) },
    cors: ["https://app.example"],
  });
});
afterAll(() => world.close());

describe.each(everyBinding.map(titleOf))("an extended card over %s", (title) => {
  const ask = (owner: string): Promise<Reply> => {
    const driver = world.drivers.get(title) as NonNullable<ReturnType<SecuredWorld["drivers"]["get"]>>;
    return driver.call("GetExtendedAgentCard", {}, owner === "" ? {} : { headers: { "X-Key": `key-of-${owner}` } });
  };

  it("is that of its caller, and of nobody else's cache [SRV-XCRD-12]", async () => {
    const [ann, bob, again] = [await ask("ann"), await ask("bob"), await ask("ann")];
    expect(ann.message).toMatchObject({ name: "extended", description: "For ann with read." });
    expect(bob.message).toMatchObject({ description: "For bob with read." });
    expect(ann.headers["cache-control"]).toBe("private, no-cache");
    const vary = ann.headers.vary?.toLowerCase().split(/, */) ?? [];
    expect(vary).toEqual(expect.arrayContaining(["authorization", "x-key", "cookie"]));
    expect(ann.headers.etag).toMatch(/^W\/"[\w-]{43}"$/);
    expect(again.headers.etag).toBe(ann.headers.etag);
    expect(bob.headers.etag).not.toBe(ann.headers.etag);
  });

  it("may take its time", async () => {
    expect((await ask("slow")).message).toMatchObject({ description: "For slow with read." });
  });

  it("is for no caller without credentials, and for none that its function refuses", async () => {
    const { error, headers } = await ask("");
    expect(error).toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(headers["www-authenticate"]).toContain('ApiKey realm="header"');
    expect((await ask("mallory")).error).toMatchObject({ reason: "PERMISSION_DENIED" });
    expect(records.slice(-2)).toMatchObject([
      { event: "authentication.failed", reason: "missing" },
      { event: "access.denied", owner: "mallory", method: "GetExtendedAgentCard" },
    ]);
  });

  it.each(["broken", "absurd"])("that is %s is an internal error without a detail", async (owner) => {
    expect((await ask(owner)).error).toMatchObject({ reason: "INTERNAL", message: "Internal error." });
  });

  it("that never comes is refused in time", async () => {
    expect((await ask("hanging")).error).toMatchObject({ reason: "UNAVAILABLE" });
  });
});

describe("GET /extendedAgentCard", () => {
  const get = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${world.address.url}/extendedAgentCard`, { headers: { "x-key": "key-of-ann", ...headers } });

  it("answers who has this very card already with 304, and nobody else", async () => {
    const first = await get({});
    const tag = first.headers.get("etag") ?? "";
    const same = await get({ "if-none-match": `"x", ${tag}` });
    expect([same.status, await same.text(), same.headers.get("etag")]).toEqual([304, "", tag]);
    expect(same.headers.get("cache-control")).toBe("private, no-cache");
    const other = await get({ "if-none-match": tag, "x-key": "key-of-bob" });
    expect([other.status, await other.json()]).toMatchObject([200, { description: "For bob with read." }]);
    expect((await get({ "if-none-match": tag, "x-key": "key-of-mallory" })).status).toBe(403);
  });

  it("names the origin besides, where scripts may call", async () => {
    const answer = await get({ origin: "https://app.example" });
    expect(answer.headers.get("vary")?.toLowerCase()).toMatch(/x-key.*origin|origin.*x-key/);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });
});
