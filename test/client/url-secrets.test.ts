import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { serveCards } from "./card-server.js";

const once = { limits: { maxAttempts: 1 } };

describe("connect()", () => {
  const server = () =>
    serveCards(({ url = "" }, response) => {
      if (url.startsWith("/500")) response.statusCode = 500;
      else if (url.startsWith("/moved")) response.writeHead(302, { location: `http://user:SECRET@host:x/?SECRET` });
      else if (url.startsWith("/bad")) return void response.end("{");
      else if (url.startsWith("/no-card")) return void response.end("{}");
      else response.statusCode = 404;
      response.end();
    });

  it.each([
    ["/500.json", "No agent card was found at http://…@HOST/500.json?…: the server answered 500."],
    ["/404", "No agent card was found at http://…@HOST/404/.well-known/agent-card.json?…: the server answered 404."],
    ["/bad.json", "http://…@HOST/bad.json?… is not an agent card: it is not JSON."],
    ["/no-card.json", "http://…@HOST/no-card.json?… is not an agent card: it has no supportedInterfaces."],
    ["/moved.json", "The card at http://…@HOST/moved.json?… is redirected to no URL of http or https."],
  ])("names no secret of the URL of %s", async (path, message) => {
    const { host } = new URL((await server()).url);
    const error = await connect(`http://user:SECRET@${host}${path}?token=SECRET`, once).catch((thrown) => thrown);
    expect(error.message).toBe(message.replace("HOST", host));
  });

  it("names no secret of a URL that cannot be reached", async () => {
    const url = "http://user:SECRET@127.0.0.1:9/card.json?token=SECRET";
    const error = await connect(url, once).catch((thrown) => thrown);
    expect(error.message).toMatch(/^127\.0\.0\.1:9 cannot be reached: /);
    const ofFetch = await connect(url, { ...once, fetch: globalThis.fetch }).catch((thrown) => thrown);
    expect(`${ofFetch.message} ${ofFetch.cause}`).not.toContain("SECRET");
  });

  it("names no secret of a text that is not the URL of an agent", async () => {
    for (const url of ["ftp://user:SECRET@host.example/?SECRET", "user:SECRET@host.example"]) {
      const error = await connect(url, once).catch((thrown) => thrown);
      expect(error.message).toContain("…@host.example");
      expect(error.message).not.toContain("SECRET");
    }
  });
});
