import { createHash } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { html, isLink, type PageContent, pageHeaders, pageOf } from "../../src/page/page.js";
import { plainOf } from "../../src/page/plain.js";

const evil = `</script><img src=x onerror=alert(1)>"'&`;

type CardInit = Exclude<MessageInitShape<typeof AgentCardSchema>, AgentCard>;

function card(more: CardInit = {}): AgentCard {
  return create(AgentCardSchema, {
    name: "Agent",
    description: "Does things.",
    version: "1.0.0",
    capabilities: { streaming: true },
    skills: [{ id: "s", name: "Skill", description: "A skill.", tags: ["tag"], examples: ["Try this"] }],
    supportedInterfaces: [
      { url: "https://agents.example/a", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "it's" },
      { url: "agents.example:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
      { url: "https://agents.example/a", protocolBinding: "urn:example:other", protocolVersion: "1.0" },
    ],
    ...more,
  });
}

const content = (more: Partial<PageContent> = {}): PageContent => ({ card: card(), base: "", agents: [], ...more });

describe("pageOf()", () => {
  it("shows what the agent is and can do, in less than 30 kB", () => {
    const page = pageOf(content());
    for (const text of ["Agent", "Does things.", "Skill", "tag", "Try this", "https://agents.example/a"]) {
      expect(page).toContain(text);
    }
    expect(Buffer.byteLength(page)).toBeLessThan(30_000);
  });

  it.each(["constructor", "__proto__"])("shows interfaces of odd names: %s", (name) => {
    const supportedInterfaces = ["JSONRPC", name].map((protocolBinding) => ({
      protocolBinding,
      protocolVersion: name,
      url: "https://a.example",
    }));
    expect(pageOf(content({ card: card({ supportedInterfaces }) }))).toContain(`<h3>${name}, A2A ${name}</h3>`);
  });

  it("takes every word of a card for text", () => {
    const skills = [{ id: evil, name: evil, description: evil, tags: [evil], examples: [evil] }];
    const supportedInterfaces = [{ url: evil, protocolBinding: evil, protocolVersion: evil, tenant: evil }];
    const provider = { organization: evil, url: evil };
    const init = {
      name: evil,
      description: evil,
      version: evil,
      documentationUrl: evil,
      provider,
      skills,
      supportedInterfaces,
    };
    const page = pageOf({
      card: create(AgentCardSchema, init),
      base: evil,
      agents: [
        { name: evil, path: evil, isShown: true },
        { name: "b", path: "/b", isShown: false },
      ],
    });
    expect(page).not.toContain("<img");
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page.match(/<\/script>/g)).toHaveLength(1);
  });

  it("links to nothing but the web and mail", () => {
    const page = pageOf(content({ card: card({ documentationUrl: "javascript:alert(1)" }) }));
    expect(page).not.toContain('href="javascript');
    expect(["https://a.example", "http://a.example", "mailto:a@b.example"].every(isLink)).toBe(true);
    expect(["javascript:1", "data:text/html,x", "//a.example", "", "ftp://a.example"].some(isLink)).toBe(false);
  });

  it("gives commands that a shell takes as they are", () => {
    const page = pageOf(content());
    expect(page).toContain("grpcurl -plaintext");
    expect(page).toContain("&quot;tenant&quot;:&quot;it&#39;\\&#39;&#39;s&quot;");
    expect(page).toContain("lf.a2a.v1.A2AService/SendMessage");
  });

  it.each([
    [{ case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } }, "authorization: Bearer TOKEN"],
    [{ case: "httpAuthSecurityScheme", value: { scheme: "Basic" } }, "authorization: Basic BASE64"],
    [{ case: "oauth2SecurityScheme", value: {} }, "authorization: Bearer TOKEN"],
    [{ case: "apiKeySecurityScheme", value: { location: "header", name: "x-it's" } }, "x-it'\\''s: KEY"],
    [{ case: "apiKeySecurityScheme", value: { location: "cookie", name: "key" } }, "cookie: key=KEY"],
  ] as const)("gives commands with the credential that the agent asks for: %j", (scheme, header) => {
    const supportedInterfaces = ["JSONRPC", "HTTP+JSON", "GRPC", "urn:parley:binding:connect:v1"].map(
      (protocolBinding) => ({ protocolBinding, protocolVersion: "1.0", url: "http://a.example" }),
    );
    const securityRequirements = [{ schemes: { it: {} } }, { schemes: { other: {} } }];
    const secured = { supportedInterfaces, securitySchemes: { it: { scheme } }, securityRequirements };
    const page = pageOf(content({ card: create(AgentCardSchema, secured as object) }));
    const given = html`${`-H '${header}' -d`}`.text;
    expect(page.split(given).length - 1).toBe(4);
    const open = { ...secured, securityRequirements: [...securityRequirements, { schemes: {} }] };
    expect(pageOf(content({ card: create(AgentCardSchema, open as object) }))).not.toContain(given);
  });

  it("gives commands with the key that the agent asks for in the query", () => {
    const card = create(AgentCardSchema, {
      supportedInterfaces: ["JSONRPC", "HTTP+JSON", "urn:parley:binding:connect:v1"].map((protocolBinding) => ({
        protocolBinding,
        protocolVersion: "1.0",
        url: "http://a.example",
      })),
      securitySchemes: {
        it: { scheme: { case: "apiKeySecurityScheme", value: { location: "query", name: "it's & key" } } },
      },
      securityRequirements: [{ schemes: { it: {} } }],
    });
    const query = "?it'\\''s%20%26%20key=KEY";
    const page = pageOf(content({ card }));
    for (const path of ["", "/message:send", "/lf.a2a.v1.A2AService/SendMessage"]) {
      expect(page).toContain(html`${`curl -s 'http://a.example${path}${query}' -H`}`.text);
    }
    expect(plainOf(card, "http://a.example")).toContain(`curl -s 'http://a.example/message:send${query}' -H`);
  });

  it("leads to the other agents of a server", () => {
    const agents = [
      { name: "One", path: "/one", isShown: true },
      { name: "Two", path: "/two", isShown: false },
    ];
    const page = pageOf(content({ agents }));
    expect(page).toContain('<a href="/one" aria-current="page">One</a><a href="/two">Two</a>');
    expect(pageOf(content({ agents: agents.slice(0, 1) }))).not.toContain("<nav");
  });

  it("asks for credentials where the card does", () => {
    expect(pageOf(content())).toContain('<details id="who">');
    const secured = create(AgentCardSchema, {
      name: "A",
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
    expect(pageOf(content({ card: secured }))).toContain('<details id="who" open>');
  });

  it.each([
    ["authorization", ["bearer"]],
    ["authorization", ["key", "bearer"]],
    ["X-Key", ["key"]],
    ["X-Key", ["cookie", "mtls", "key"]],
    ["authorization", ["cookie"]],
    ["authorization", []],
  ])("sends credentials in the header %s where the card asks for %j", (header, names) => {
    const securitySchemes = {
      bearer: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } },
      key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "X-Key" } } },
      cookie: { scheme: { case: "apiKeySecurityScheme", value: { location: "cookie", name: "c" } } },
      mtls: { scheme: { case: "mtlsSecurityScheme", value: {} } },
    };
    const securityRequirements = names.map((name) => ({ schemes: { [name]: {} } }));
    const card = create(AgentCardSchema, { securitySchemes, securityRequirements } as object);
    expect(pageOf(content({ card }))).toContain(`data-header="${header}"`);
  });

  it("runs its own script and style alone", () => {
    const policy = pageHeaders["content-security-policy"] ?? "";
    const page = pageOf(content());
    for (const tag of ["script", "style"]) {
      const inline = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? "";
      const hash = createHash("sha256").update(inline).digest("base64");
      expect(policy).toContain(`${tag}-src 'sha256-${hash}'`);
    }
    expect(policy).toContain("default-src 'none'");
    expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  });
});

describe("the page for those who hear it, or see little", () => {
  const page = pageOf(content());

  it("says what happens, and reads the conversation when an answer is whole", () => {
    expect(page).toContain('<p id="now" class="soft small" role="status"></p>');
    expect(page).toContain('<div id="log" role="log" aria-label="Conversation"><ul id="talk"></ul></div>');
    expect(page).toContain('log.setAttribute("aria-busy",is)');
  });

  it("has a name for each field and each button", () => {
    const tags = page.slice(0, page.indexOf("<script>")).match(/<(?:input|textarea)[^>]*>/g) ?? [];
    expect(tags).toHaveLength(2);
    for (const tag of tags) expect(tag).toMatch(/aria-label="[^"]+"/);
    const names = [...page.matchAll(/<button[^>]*data-copy[^>]*aria-label="([^"]+)"/g)].map(([, name]) => name);
    expect(names).toEqual(["Copy the command for JSON-RPC", "Copy the command for gRPC"]);
  });

  it("lets the keyboard scroll what scrolls", () => {
    expect(page.match(/<pre[^>]* tabindex="0" role="region" aria-label="[^"]+"/g)).toHaveLength(2);
  });

  it("moves nothing", () => {
    expect(page).not.toMatch(/animation|transition|scroll-behavior|<marquee|<blink/);
  });

  const colour = (name: string, dark: number): string => {
    const [, light = "", other = ""] = new RegExp(`--${name}:light-dark\\((#\\w+),(#\\w+)\\)`).exec(page) ?? [];
    return [light, other][dark] ?? "";
  };

  it.each([
    ["light", 0],
    ["dark", 1],
  ])("has texts of enough contrast (WCAG 1.4.3), and edges (1.4.11), in its %s colours", (_name, dark) => {
    for (const ground of ["paper", "card"]) {
      for (const ink of ["ink", "soft", "accent", "good", "bad", "wait"])
        expect(contrast(colour(ink, dark), colour(ground, dark)), ink).toBeGreaterThanOrEqual(4.5);
      expect(contrast(colour("edge", dark), colour(ground, dark)), "edge").toBeGreaterThanOrEqual(3);
    }
    expect(contrast(colour("on-accent", dark), colour("accent", dark))).toBeGreaterThanOrEqual(4.5);
  });
});

/** Contrast of two colours (WCAG 2.2, "contrast ratio"). */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const digits = colour.length === 4 ? colour.replace(/\w/g, "$&$&") : colour;
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(digits.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe("html``", () => {
  it("escapes values, and joins lists", () => {
    expect(html`<p title="${'"'}">${"<b>"}${[html`<i></i>`, "&"]}${undefined}</p>`.text).toBe(
      '<p title="&quot;">&lt;b&gt;<i></i>&amp;</p>',
    );
  });
});
