import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { cardJson } from "./card-server.js";

describe("connect()", () => {
  it.each([
    ["allowHttp", "false"],
    ["allowHttp", 1],
    ["plaintextGrpc", "false"],
  ])("rejects %s: %o, which is not a boolean", async (name, value) => {
    await expect(connect(cardJson(), { [name]: value })).rejects.toMatchObject({
      reason: "INVALID_PARAMS",
      message: `Invalid parameters: ${name} is ${JSON.stringify(value)}, not true or false`,
    });
  });
});
