import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBody } from "../../src/push-receiver/event.js";
import { createPushReceiver, type PushEvent, PushRefusal } from "../../src/push-receiver/index.js";
import { webhookKeyBytes } from "../../src/wire/webhook.js";
import { scaled } from "../support/soak.js";
import { bodyOf, idOf, notification, signing, trust } from "./world.js";

const everything = createPushReceiver({ ...trust.jwt, ...trust.v1, ...trust.v1a });
const unsigned = createPushReceiver({ acceptUnsigned: true, tokens: ["t"] });

/** Fragments that make inputs nearly valid. */
const piece = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "evt_",
    "v1,",
    "v1a,",
    " ",
    ",",
    ".",
    "=",
    "%",
    "e30",
    "eyJhbGciOiJub25lIn0",
    "9".repeat(20),
    "-1",
    "\0",
  ),
);
const header = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));

describe("whatever comes", () => {
  it("in headers is refused with a code, or was not needed, and never fails", async () => {
    const sent = await notification(signing);
    const names = Object.keys(sent.headers).filter((name) => name !== "content-type");
    const changes = fc.dictionary(fc.constantFrom(...names), header, { minKeys: 1 });
    await fc.assert(
      fc.asyncProperty(changes, async (changed) => {
        fc.pre(Object.entries(changed).some(([name, value]) => sent.headers[name] !== value));
        const request = { headers: { ...sent.headers, ...changed }, body: sent.body };
        const event = await everything.receive(request).catch((error: unknown) => error);
        // A mutation may remove one of two valid signatures. The receiver still accepts only signed values.
        if (event instanceof PushRefusal) return;
        expect(event).toMatchObject({ taskId: "task-1", eventId: idOf("task-1", "config-1", 1) });
        const { generation, configId, signatures } = event as PushEvent;
        expect([undefined, 1]).toContain(generation);
        expect([undefined, "config-1"]).toContain(configId);
        expect(signatures).not.toEqual([]);
      }),
      { numRuns: scaled(150, 500) },
    );
  });

  it("as a body is a notification or refused, and never fails", async () => {
    const headers = { "content-type": "application/json", "x-a2a-notification-token": "t" };
    const json = fc.json({ maxDepth: 6 });
    const shaped = fc
      .record({
        kind: fc.constantFrom("task", "message", "statusUpdate", "artifactUpdate", "x"),
        value: fc.jsonValue(),
      })
      .map(({ kind, value }) => JSON.stringify({ [kind]: value }));
    const older = fc
      .record({
        kind: fc.constantFrom("task", "message", "status-update", "artifact-update", "x"),
        id: fc.jsonValue(),
        status: fc.jsonValue(),
        artifacts: fc.jsonValue(),
      })
      .map((task) => JSON.stringify(task));
    const cut = fc.nat().map((at) => bodyOf("task-1", "ü").slice(0, at % 300));
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, shaped, older, cut, fc.uint8Array(), fc.string()), async (body) => {
        const event = await unsigned.receive({ headers, body }).catch((error: unknown) => error);
        if (event instanceof PushRefusal) expect(event.code).toBe("malformed");
        else expect(event).toMatchObject({ taskId: expect.any(String), contextId: expect.any(String), order: "new" });
      }),
      { numRuns: scaled(150, 500) },
    );
  });

  it("as bytes is read or refused by its form alone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const error = await readBody(bytes, 1_000).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(PushRefusal);
      }),
    );
  });

  it("as a key is one, or none", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const base64 = Buffer.from(bytes).toString("base64");
        expect(Buffer.from(webhookKeyBytes("whsec_", `whsec_${base64}`) ?? [])).toEqual(Buffer.from(bytes));
        expect(webhookKeyBytes("whsec_", `whsec_${base64.replace(/=+$/, "")}`)).toBeDefined();
        expect(webhookKeyBytes("whsk_", `whsec_${base64}`)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const bytes = webhookKeyBytes("whpk_", `whpk_${text}`);
        if (bytes !== undefined) expect(text).toMatch(/^[A-Za-z0-9+/]*={0,2}$/);
      }),
    );
  });
});
