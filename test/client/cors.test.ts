import { afterEach, describe, expect, it, vi } from "vitest";
import { connectWith } from "../../src/client/connect.js";
import { webPlatform } from "../../src/client/web/platform.js";
import type { A2AError } from "../../src/core/error.js";

const connect = connectWith(webPlatform);

/** Messages of browsers for a request that CORS blocks and for one without an answer. */
const texts = ["Failed to fetch", "NetworkError when attempting to fetch resource.", "Load failed"];

async function failureOf(url: string, text: string): Promise<A2AError> {
  const fetch = () => Promise.reject(new TypeError(text));
  const options = { fetch, limits: { maxAttempts: 1 } };
  return await connect(url, options).then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );
}

describe("connect() in a page", () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each(texts)("names the origin that the server would have to allow: %s", async (text) => {
    vi.stubGlobal("location", { origin: "https://app.example" });
    const { reason, message } = await failureOf("https://agents.example:8443/a", text);
    expect(reason).toBe("UNAVAILABLE");
    expect(message).toContain(text);
    expect(message).toContain(
      `Unless https://agents.example:8443 is down, it does not allow this page's origin, https://app.example, by CORS (cors: ["https://app.example"]).`,
    );
  });

  it("does not name CORS for the page's own origin, nor where there is no page", async () => {
    vi.stubGlobal("location", { origin: "https://app.example" });
    expect((await failureOf("https://app.example/a", "Failed to fetch")).message).not.toContain("CORS");
    vi.unstubAllGlobals();
    expect((await failureOf("https://agents.example/a", "Failed to fetch")).message).not.toContain("CORS");
  });
});
