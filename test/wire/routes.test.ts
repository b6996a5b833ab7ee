import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../src/core/error.js";
import { decodeSegment, expandPath, parsePathTemplate } from "../../src/wire/path-template.js";
import { Router } from "../../src/wire/router.js";
import { type Route, routesOf } from "../../src/wire/routes.js";

const routes = routesOf(A2AService);
const router = new Router(routes);

const name = ({ template, verb }: Route): string =>
  `${verb} ${template.segments.map((each) => `/${"literal" in each ? each.literal : `{${each.variable}}`}`).join("")}${template.customVerb && `:${template.customVerb}`}`;

/** `verb template values` of a match, `405 verbs`, or `404`. */
function found(verb: string, path: string): string {
  const match = router.match(verb, path);
  if (match === undefined) return "404";
  return "allow" in match ? `405 ${match.allow}` : `${name(match.route)} ${match.values}`.trim();
}

describe("routesOf()", () => {
  it("reads 22 routes from the contract and adds the alias of a stream that is read with GET", () => {
    const plain = routes.filter(
      ({ template }) => !template.segments.some((each) => "variable" in each && each.variable === "tenant"),
    );
    expect(plain.map((route) => `${name(route)}${route.hasBody ? " *" : ""}`)).toEqual([
      "POST /message:send *",
      "POST /message:stream *",
      "GET /tasks/{id}",
      "GET /tasks",
      "POST /tasks/{id}:cancel *",
      "GET /tasks/{id}:subscribe",
      "POST /tasks/{task_id}/pushNotificationConfigs *",
      "GET /tasks/{task_id}/pushNotificationConfigs/{id}",
      "GET /tasks/{task_id}/pushNotificationConfigs",
      "GET /extendedAgentCard",
      "DELETE /tasks/{task_id}/pushNotificationConfigs/{id}",
      "POST /tasks/{id}:subscribe *",
    ]);
    const ofTenants = routes.filter((route) => !plain.includes(route));
    expect(ofTenants.map(name)).toEqual(plain.map((route) => name(route).replace(" /", " /{tenant}/")));
    expect(ofTenants.map(({ method }) => method)).toEqual(plain.map(({ method }) => method));
  });

  it("names the fields that the variables fill", () => {
    const [nested] = routes.filter(
      (route) => name(route) === "DELETE /{tenant}/tasks/{task_id}/pushNotificationConfigs/{id}",
    );
    expect(nested?.fields.map((field) => field.jsonName)).toEqual(["tenant", "taskId", "id"]);
  });
});

describe("parsePathTemplate()", () => {
  it("refuses templates that are not built", () => {
    for (const text of ["tasks", "/", "/{id=**}", "/{a.b}", "/tasks/{id=tasks/*}", "/tasks//x", "/ta sks", "/{id"]) {
      expect(() => parsePathTemplate(text)).toThrow(A2AError);
    }
  });
});

describe("expandPath()", () => {
  it("is what match() takes apart, for any values", () => {
    const value = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
    const special = fc.constantFrom(
      ":cancel",
      "a:subscribe",
      "a/b",
      "%2F",
      "tasks",
      "..",
      "a b+c",
      "?",
      "#",
      "message:send",
      "\u0000",
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...routes),
        fc.array(fc.oneof(value, special), { minLength: 3, maxLength: 3 }),
        (route, chosen) => {
          const values = Object.fromEntries(route.fields.map((field, i) => [field.name, chosen[i] as string]));
          // Literal segments go before variables: a tenant of that name cannot be addressed by path.
          fc.pre(!["tasks", "extendedAgentCard"].includes(values.tenant ?? ""));
          const match = router.match(route.verb, expandPath(route.template, values));
          if (match === undefined || !("route" in match)) throw new Error("no match");
          expect(match.route === route).toBe(true);
          expect(match.values.map(decodeSegment)).toEqual(Object.values(values));
        },
      ),
    );
  });

  it("refuses values that no path can carry", () => {
    const template = parsePathTemplate("/tasks/{id=*}");
    for (const values of [{}, { id: "" }, { id: "\ud800" }])
      expect(() => expandPath(template, values as never)).toThrow(A2AError);
  });
});

describe("Router", () => {
  it("finds what every template stands for", () => {
    expect(found("POST", "/message:send")).toBe("POST /message:send");
    expect(found("POST", "/acme/message:stream")).toBe("POST /{tenant}/message:stream acme");
    expect(found("GET", "/tasks")).toBe("GET /tasks");
    expect(found("GET", "/acme/tasks/t1")).toBe("GET /{tenant}/tasks/{id} acme,t1");
    expect(found("POST", "/tasks/t1:cancel")).toBe("POST /tasks/{id}:cancel t1");
    expect(found("GET", "/tasks/t1:subscribe")).toBe("GET /tasks/{id}:subscribe t1");
    expect(found("POST", "/acme/tasks/t1:subscribe")).toBe("POST /{tenant}/tasks/{id}:subscribe acme,t1");
    expect(found("DELETE", "/tasks/t1/pushNotificationConfigs/c1")).toBe(
      "DELETE /tasks/{task_id}/pushNotificationConfigs/{id} t1,c1",
    );
    expect(found("GET", "/acme/extendedAgentCard")).toBe("GET /{tenant}/extendedAgentCard acme");
  });

  it("prefers literal first segments", () => {
    expect(found("GET", "/tasks/tasks")).toBe("GET /tasks/{id} tasks");
    expect(found("GET", "/tasks/extendedAgentCard")).toBe("GET /tasks/{id} extendedAgentCard");
  });

  it("tells a wrong verb from a wrong path", () => {
    expect(found("DELETE", "/tasks/t1")).toBe("405 GET");
    expect(found("GET", "/tasks/t1:cancel")).toBe("405 POST");
    expect(found("PUT", "/tasks/t1:subscribe")).toBe("405 GET,POST");
    expect(found("HEAD", "/tasks/t1/pushNotificationConfigs")).toBe("405 POST,GET");
    for (const path of [
      "",
      "/",
      "tasks",
      "/nothing",
      "//tasks",
      "/tasks/",
      "/tasks/:cancel",
      "/tasks/a/b",
      "/message",
      "/a/b/tasks/c",
      "/__proto__",
      "*",
    ]) {
      expect(found("GET", path)).toBe("404");
    }
  });

  it("takes a colon for part of an id when no route has such a verb", () => {
    expect(found("GET", "/tasks/urn:x:1")).toBe("GET /tasks/{id} urn:x:1");
    expect(found("POST", "/tasks/urn:x:cancel")).toBe("POST /tasks/{id}:cancel urn:x");
    expect(found("GET", "/tasks/t1%3Acancel")).toBe("GET /tasks/{id} t1%3Acancel");
  });

  it("answers any path without throwing", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom("GET", "POST", "x"),
        (path, verb) => void router.match(verb, `/${path}`),
      ),
    );
  });
});

describe("decodeSegment()", () => {
  it("tells what is not percent-encoded UTF-8", () => {
    expect(decodeSegment("a%20b+c")).toBe("a b+c");
    for (const raw of ["%", "%zz", "%ff", "%c3"]) expect(decodeSegment(raw)).toBeUndefined();
  });
});
