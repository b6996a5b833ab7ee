import { gzipSync } from "node:zlib";
import { create, type JsonObject, toBinary, toJsonString } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  A2AService,
  CancelTaskRequestSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { requestValues } from "../../../src/http/body.js";
import { setConstants } from "../../support/constants.js";
import { serve } from "./support.js";

const base = `/${A2AService.typeName}`;
const max = 3_000;

/** Smaller requests skip the count of values. */
const filler = "x".repeat(70_000);

function withValues(count: number): SendMessageRequest {
  const values: JsonObject = { filler, list: Array.from({ length: count }, () => true) };
  return create(SendMessageRequestSchema, { metadata: values });
}

const codecs = {
  json: (count: number) => Buffer.from(toJsonString(SendMessageRequestSchema, withValues(count))),
  proto: (count: number) => Buffer.from(toBinary(SendMessageRequestSchema, withValues(count))),
};

async function post(
  url: string,
  type: string,
  body: Uint8Array,
  headers = {},
): Promise<{ code?: string } & JsonObject> {
  const init = { method: "POST", headers: { "content-type": type, ...headers }, body: Buffer.from(body) };
  const text = await (await fetch(url, init)).text();
  return JSON.parse(text || "{}") as JsonObject;
}

describe("a request over Connect", () => {
  const answer = () => create(SendMessageResponseSchema);

  it.each(["json", "proto"] as const)(
    "has at most so many values in %s, compressed or not [SRV-SEC-04]",
    async (codec) => {
      setConstants(requestValues, { max });
      const { h1 } = await serve(answer);
      const url = `${h1}${base}/SendMessage`;
      const gzip = { "content-encoding": "gzip" };
      for (const [headers, encode] of [
        [{}, Buffer.from],
        [gzip, gzipSync],
      ] as const) {
        expect(await post(url, `application/${codec}`, encode(codecs[codec](max - 100)), headers)).not.toHaveProperty(
          "code",
        );
        expect(await post(url, `application/${codec}`, encode(codecs[codec](max + 100)), headers)).toMatchObject({
          code: "resource_exhausted",
          message: `The request has more than ${max} values.`,
          details: [{ debug: { reason: "REQUEST_TOO_LARGE" } }],
        });
      }
    },
  );

  it("that is no message is the client's mistake, however it came", async () => {
    const { h1, lines } = await serve(answer);
    const mistake = { code: "invalid_argument", details: [{ debug: { reason: "INVALID_PARAMS" } }, {}] };
    const cancel = `${h1}${base}/CancelTask`;
    expect(await post(cancel, "application/proto", Buffer.from([0]))).toMatchObject(mistake);
    expect(await post(cancel, "application/json", Buffer.from("{"))).toMatchObject(mistake);
    expect(await post(cancel, "application/json", Buffer.from([0x22, 0xff, 0x22]))).toMatchObject(mistake);
    expect(await post(cancel, "application/proto", Buffer.from([9]), { "content-encoding": "gzip" })).toMatchObject(
      mistake,
    );
    const bytes = gzipSync(toBinary(CancelTaskRequestSchema, create(CancelTaskRequestSchema, { id: "t" }))).fill(7, 12);
    expect(await post(cancel, "application/proto", bytes, { "content-encoding": "gzip" })).toMatchObject(mistake);
    for (const message of ["AA", "CA"]) {
      const query = new URLSearchParams({ connect: "v1", encoding: "proto", base64: "1", message });
      expect(await (await fetch(`${h1}${base}/GetTask?${query}`)).json()).toMatchObject(mistake);
    }
    expect(lines).toEqual([]);
  });

  it("names the place of a number that is too large for JSON", async () => {
    const { h1 } = await serve(answer);
    const body = Buffer.from('{"message":{"messageId":"m","role":1,"parts":[{"data":{"a":[1e999]}}]}}');
    expect(await post(`${h1}${base}/SendMessage`, "application/json", body)).toMatchObject({
      code: "invalid_argument",
    });
  });
});
