import type { AgentCard, AgentSkill, SecurityRequirement } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { parseUrl } from "../core/net.js";
import { isMediaType } from "../wire/media-type.js";

/** Faults of a card's values beyond missing fields, as sentences that begin with the place (specification 4.4, 4.5). */
export function valueFaults(card: AgentCard): string[] {
  return [
    ...modeFaults("", card.defaultInputModes, card.defaultOutputModes, "default"),
    ...card.skills.flatMap((skill, i) => skillFaults(card, skill, `skills[${i}]`)),
    ...repeated(card.skills.map((skill) => skill.id)).map((id) => `skills has the id "${id}" twice`),
    ...linkFaults(card),
    ...extensionFaults(card),
    ...requirementFaults(card, card.securityRequirements, "securityRequirements"),
    ...schemeFaults(card),
    ...(card.signatures.length > 0
      ? ["signatures cannot be given: the server completes the card, then signs it where cardSigning says so"]
      : []),
  ];
}

function skillFaults(card: AgentCard, skill: AgentSkill, place: string): string[] {
  return [
    ...modeFaults(`${place}.`, skill.inputModes, skill.outputModes, ""),
    ...requirementFaults(card, skill.securityRequirements, `${place}.securityRequirements`),
  ];
}

function modeFaults(place: string, input: string[], output: string[], prefix: "default" | ""): string[] {
  const [first, second] = prefix === "" ? ["inputModes", "outputModes"] : ["defaultInputModes", "defaultOutputModes"];
  const faults = (name: string, modes: string[]): string[] =>
    modes.flatMap((mode, i) => (isMediaType(mode) ? [] : [`${place}${name}[${i}] "${mode}" is not a media type`]));
  return [...faults(first, input), ...faults(second, output)];
}

function linkFaults(card: AgentCard): string[] {
  const links: [string, string | undefined][] = [
    ["provider.url", card.provider?.url],
    ["documentationUrl", card.documentationUrl],
    ["iconUrl", card.iconUrl],
  ];
  return links.flatMap(([place, link]) =>
    link === undefined || link === "" || parseUrl(link) !== undefined
      ? []
      : [`${place} "${link}" is not an absolute URL`],
  );
}

// The contract does not mark `uri` as REQUIRED, but an extension without one is meaningless (specification 4.4.4).
function extensionFaults(card: AgentCard): string[] {
  const uris = (card.capabilities?.extensions ?? []).map((extension) => extension.uri);
  return [
    ...uris.flatMap((uri, i) => (uri.trim() === "" ? [`capabilities.extensions[${i}].uri is empty`] : [])),
    ...repeated(uris.filter((uri) => uri !== "")).map((uri) => `capabilities.extensions has "${uri}" twice`),
  ];
}

function requirementFaults(card: AgentCard, requirements: readonly SecurityRequirement[], place: string): string[] {
  return requirements.flatMap((requirement, i) =>
    Object.keys(requirement.schemes)
      .filter((scheme) => !Object.hasOwn(card.securitySchemes, scheme))
      .map((scheme) => `${place}[${i}] names the scheme "${scheme}", which securitySchemes does not declare`),
  );
}

function schemeFaults(card: AgentCard): string[] {
  return Object.entries(card.securitySchemes).flatMap(([name, { scheme }]) => {
    if (scheme.case !== "apiKeySecurityScheme" || scheme.value.location === "") return [];
    if (["header", "query", "cookie"].includes(scheme.value.location)) return [];
    return [`securitySchemes.${name}.location "${scheme.value.location}" is not one of header, query, cookie`];
  });
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, i) => values.indexOf(value) !== i))];
}
