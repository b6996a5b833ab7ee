import { describe, expect, it } from "vitest";
import { scopesAskedFor } from "../../../src/client/credentials/call-credentials.js";
import { A2AError } from "../../../src/core/error.js";

const asked = (header: string, reason: "PERMISSION_DENIED" | "UNAUTHENTICATED" = "PERMISSION_DENIED", metadata = {}) =>
  scopesAskedFor(
    new A2AError(reason, "No.", { metadata, ...(header !== "" && { headers: { "www-authenticate": header } }) }),
  );

describe("scopesAskedFor() reads", () => {
  it.each([
    ['Bearer realm="x", error="insufficient_scope", scope="a b"', ["a", "b"]],
    ["bearer error=insufficient_scope, scope=a", ["a"]],
    ['Basic realm="a, Bearer b=c", Bearer ERROR = "insufficient_scope" , scope="c"', ["c"]],
    ['Bearer error="insufficient_scope", scope="a a b", Bearer error="insufficient_scope", scope="c"', ["a", "b", "c"]],
    ['Negotiate abc==, Bearer scope="x", error="insufficient_scope"', ["x"]],
    ['Bearer error="insufficient_scope", scope="a \\"b\\" \\\\ c"', ["a", "c"]],
    ['Bearer error="insufficient_scope"', undefined],
    ['Bearer error="invalid_token", scope="a"', undefined],
    ['Bearer scope="a"', undefined],
    ['Basic error="insufficient_scope", scope="a"', undefined],
    ['Bearer error="insufficient_scope", scope="a', undefined],
    ["", undefined],
    [`Bearer error="insufficient_scope", scope="${Array.from({ length: 1000 }, (_, i) => i).join(" ")}"`, undefined],
  ])("%s", (header, scopes) => {
    expect(asked(header)).toEqual(scopes);
  });

  it("the facts of the error where no header came through", () => {
    expect(asked("", "PERMISSION_DENIED", { scope: "write" })).toEqual(["write"]);
  });

  it("nothing of other errors", () => {
    expect(asked('Bearer error="insufficient_scope", scope="a"', "UNAUTHENTICATED")).toBeUndefined();
  });
});
