import { type DescField, type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { A2AError } from "../core/error.js";
import { type PathTemplate, parsePathTemplate } from "./path-template.js";

/** One way to call a method over HTTP. */
export interface Route {
  readonly method: DescMethod;
  /** HTTP verb in upper case. */
  readonly verb: string;
  readonly template: PathTemplate;
  /** Fields of the template's variables, in order. */
  readonly fields: readonly DescField[];
  /** True if the other fields come from the body, false if they come from the query. */
  readonly hasBody: boolean;
}

/**
 * Routes beyond those of the contract. The specification lets clients open a stream on a resource with POST (sections
 * 5.3, 11.3.2), but the contract says GET. Both are served, with the same template.
 */
const aliases = [{ of: "GET", verb: "POST", hasBody: true, onlyStreams: true, onlyCustomVerbs: true }] as const;

/** Returns all routes of a service, from the `google.api.http` rules of its methods, followed by the aliases. */
export function routesOf(service: DescService): Route[] {
  const routes = service.methods.flatMap((method) =>
    hasOption(method, http) ? rulesOf(getOption(method, http)).map((rule) => routeOf(method, rule)) : [],
  );
  return [...routes, ...routes.flatMap(aliasesOf)];
}

function rulesOf(rule: HttpRule): HttpRule[] {
  return [rule, ...rule.additionalBindings];
}

function routeOf(method: DescMethod, rule: HttpRule): Route {
  const { pattern, body, responseBody } = rule;
  const isPlain = pattern.case !== undefined && pattern.case !== "custom";
  if (!isPlain || (body !== "" && body !== "*") || responseBody !== "") throw unsupportedRoute(method, "its HTTP rule");
  const template = parsePathTemplate(pattern.value);
  const fields = template.segments.flatMap((segment) => {
    if ("literal" in segment) return [];
    const field = method.input.fields.find(({ name }) => name === segment.variable);
    if (field?.fieldKind !== "scalar") throw unsupportedRoute(method, `the variable ${segment.variable}`);
    return [field];
  });
  return { method, verb: pattern.case.toUpperCase(), template, fields, hasBody: body === "*" };
}

function unsupportedRoute(method: DescMethod, what: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`${method.name}: unsupported ${what}`) });
}

function aliasesOf(route: Route): Route[] {
  const isStream = route.method.methodKind === "server_streaming";
  return aliases
    .filter(({ of }) => of === route.verb)
    .filter(
      ({ onlyStreams, onlyCustomVerbs }) =>
        (isStream || !onlyStreams) && (route.template.customVerb !== "" || !onlyCustomVerbs),
    )
    .map(({ verb, hasBody }) => ({ ...route, verb, hasBody }));
}
