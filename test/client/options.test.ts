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

  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();

  it.each<[unknown, string]>([
    [null, "options is null, not an object"],
    [5, "options is a value of type number, not an object"],
    [() => revoked, "options cannot be read"],
    [{ limits: null }, "limits is null, not an object"],
    [{ limits: 5 }, "limits is a value of type number, not an object"],
    [{ limits: revoked }, "limits cannot be read"],
    [{ card: null }, "card is null, not an object"],
    [{ fetch: 5 }, "fetch is 5, not a function"],
    [
      {
        get tenant() {
          throw new Error("secret");
        },
      },
      "tenant cannot be read",
    ],
  ])("names the fault of options that it cannot use (%#)", async (given, fault) => {
    const options = typeof given === "function" ? given() : given;
    await expect(connect(cardJson(), options as never)).rejects.toMatchObject({
      reason: "INVALID_PARAMS",
      message: `Invalid parameters: ${fault}`,
    });
  });
});
