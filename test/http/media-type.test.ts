import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerType, checkBodyType, errorType } from "../../src/http/media-type.js";
import { A2A_JSON_TYPE, JSON_TYPE } from "../../src/wire/media-type.js";

describe("checkBodyType()", () => {
  const check = (type: string) => () =>
    checkBodyType({ header: (name) => (name === "content-type" ? type : undefined) });

  it.each([
    "application/json",
    "Application/JSON ; Charset=UTF8",
    'application/a2a+json; profile="a;charset=latin1"; charset="utf-8"',
    'application/json;a="\\"; charset=latin1"',
    "application/json;",
  ])("takes JSON in UTF-8: %s", (type) => {
    expect(check(type)).not.toThrow();
  });

  it.each([
    "text/plain",
    "application/jsonx",
    "application/json;charset=latin1",
    'application/json; x="y" ; charset="utf-16"',
  ])("refuses %s", (type) => {
    expect(check(type)).toThrow("Unsupported media type");
  });

  it("takes no longer than what is sent is long", () => {
    const hostile = `application/json${'; a="'.repeat(20_000)}`;
    expect(check(hostile)).not.toThrow();
  });
});

describe("answerType()", () => {
  it("answers with the protocol's type unless plain JSON is preferred", () => {
    const protocol = [
      undefined,
      "",
      "*/*",
      "application/*",
      "application/a2a+json",
      "text/event-stream",
      "text/html",
      "application/json, */*",
    ];
    const more = [
      "application/json, application/a2a+json",
      "application/json;q=0.5, application/a2a+json",
      "application/json;q=0, */*",
      "APPLICATION/A2A+JSON",
    ];
    for (const accept of [...protocol, ...more]) expect([accept, answerType(accept)]).toEqual([accept, A2A_JSON_TYPE]);
    const plain = [
      "application/json",
      "Application/JSON; charset=utf-8",
      "text/html, application/json;q=0.1",
      "application/json, */*;q=0.8",
    ];
    const rest = ["application/json, application/a2a+json;q=0.5", "application/a2a+json;q=0, application/json"];
    for (const accept of [...plain, ...rest]) expect([accept, answerType(accept)]).toEqual([accept, JSON_TYPE]);
  });

  it("takes anything", () => {
    fc.assert(fc.property(fc.string(), (accept) => [JSON_TYPE, A2A_JSON_TYPE].includes(answerType(accept))));
  });
});

describe("errorType()", () => {
  const stream = "text/event-stream";
  it.each([
    [undefined, undefined, A2A_JSON_TYPE],
    [undefined, JSON_TYPE, JSON_TYPE],
    [stream, undefined, JSON_TYPE],
    [`${stream}, */*;q=0.1`, undefined, JSON_TYPE],
    [stream, JSON_TYPE, JSON_TYPE],
    [stream, A2A_JSON_TYPE, A2A_JSON_TYPE],
    [`${stream}, ${A2A_JSON_TYPE}`, undefined, A2A_JSON_TYPE],
    [JSON_TYPE, A2A_JSON_TYPE, JSON_TYPE],
  ])("of a request that accepts %s and is of type %s is %s", (accept, sent, type) => {
    const headers = new Map([
      ["accept", accept],
      ["content-type", sent],
    ]);
    expect(errorType({ header: (name) => headers.get(name) })).toBe(type);
  });
});
