import { create, type DescMessage, equals, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AgentSkillSchema,
  CancelTaskRequestSchema,
  file_lf_a2a_v1_a2a,
  ListTasksRequestSchema,
  MessageSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError } from "../../src/core/error.js";
import { accessTo } from "../../src/wire/field-rules.js";
import { queryReader, queryWriter, textLeafOf } from "../../src/wire/query.js";
import { Violations } from "../../src/wire/violations.js";
import { anyMessage } from "./arbitrary.js";

function read<Desc extends DescMessage>(desc: Desc, query: string) {
  const [message, at] = [create(desc), new Violations()];
  queryReader(desc)(query, message, at);
  at.throwIfAny();
  return message;
}

function violations(desc: DescMessage, query: string): string[] {
  try {
    read(desc, query);
    return [];
  } catch (error) {
    return (error as A2AError).violations.map(({ field }) => field);
  }
}

describe("queryReader()", () => {
  it("reads every kind of value", () => {
    const query =
      "tenant=acme%20inc&contextId=a%2Bb+c&status=TASK_STATE_WORKING&pageSize=50&pageToken=%C3%A9&historyLength=0" +
      "&statusTimestampAfter=2025-10-28T10:30:00Z&includeArtifacts=false";
    expect(read(ListTasksRequestSchema, query)).toStrictEqual(
      create(ListTasksRequestSchema, {
        tenant: "acme inc",
        contextId: "a+b c",
        status: 2,
        pageSize: 50,
        pageToken: "é",
        historyLength: 0,
        statusTimestampAfter: { seconds: 1761647400n, nanos: 0 },
        includeArtifacts: false,
      }),
    );
  });

  it("accepts names of the proto and enum numbers, and ignores unknown parameters", () => {
    const read1 = read(ListTasksRequestSchema, "page_size=5&status=2&A2A-Version=1.0&x&=&&__proto__=1&%=%");
    expect(read1).toStrictEqual(create(ListTasksRequestSchema, { pageSize: 5, status: 2 }));
  });

  it("takes lists by repetition and by commas", () => {
    expect(read(AgentSkillSchema, "tags=a,b&tags=c%2Cd&inputModes=&name=a,b")).toStrictEqual(
      create(AgentSkillSchema, { tags: ["a", "b", "c,d"], name: "a,b" }),
    );
  });

  it("names every violation", () => {
    const query =
      "status=working&pageSize=5x&page_size=5&historyLength=&statusTimestampAfter=today&includeArtifacts=yes&tenant=%ff";
    expect(violations(ListTasksRequestSchema, query)).toEqual([
      "status",
      "pageSize",
      "historyLength",
      "statusTimestampAfter",
      "includeArtifacts",
      "tenant",
    ]);
    expect(violations(CancelTaskRequestSchema, "metadata=x&id=1&id=1")).toEqual(["metadata", "id"]);
    expect(violations(MessageSchema, "parts=x")).toEqual(["parts"]);
  });

  it("never throws anything else", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        violations(ListTasksRequestSchema, text);
        violations(ListTasksRequestSchema, `status=${text}&pageSize=${text}&statusTimestampAfter=${text}`);
      }),
    );
  });
});

describe("queryWriter()", () => {
  for (const desc of file_lf_a2a_v1_a2a.messages) {
    it(`writes what queryReader() reads, for ${desc.typeName}`, () => {
      fc.assert(
        fc.property(anyMessage(desc), (message) => {
          const sent = onlyText(desc, message);
          expect(equals(desc, read(desc, queryWriter(desc)(sent, [])), sent)).toBe(true);
        }),
        { numRuns: 40 },
      );
    });
  }

  it("leaves out what the path carries", () => {
    const request = create(CancelTaskRequestSchema, { id: "t", tenant: "x" });
    expect(queryWriter(CancelTaskRequestSchema)(request, [CancelTaskRequestSchema.field.id])).toBe("tenant=x");
  });
});

/** The part of a message that a query can carry: milliseconds, no empty texts in lists, no messages. */
function onlyText(desc: DescMessage, message: Message): Message {
  const result = create(desc);
  for (const field of desc.fields) {
    const { get, set } = accessTo(field);
    const value = get(message);
    if (value === undefined || field.fieldKind === "map" || textLeafOf(field) === undefined) continue;
    if (Array.isArray(value))
      set(
        result,
        value.filter((item) => item !== ""),
      );
    else if (field.message === undefined) set(result, value);
    else {
      const { seconds, nanos } = value as { seconds: bigint; nanos: number };
      set(result, { ...(value as object), seconds, nanos: Math.floor(nanos / 1e6) * 1e6 });
    }
  }
  return result;
}
