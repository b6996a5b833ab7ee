import { isJsonObject } from "../wire/json-struct.js";
import { setOwn } from "../wire/json-value.js";

type Json = Record<string, unknown>;

/*
 * What a caller has to show, as libraries write it that do not keep to the JSON of the contract. Without it their agents could not be
 * called at all, or would be called without credentials. Anything else is left as it is.
 */

/** Puts what says who may call an agent into the form of the contract, in a card that is this function's to change. */
export function mendSecurity(card: Json): void {
  const { securitySchemes, skills } = card;
  if (isJsonObject(securitySchemes)) card.securitySchemes = mapped(securitySchemes, mendScheme);
  mendRequirements(card);
  if (Array.isArray(skills)) for (const skill of skills) if (isJsonObject(skill)) mendRequirements(skill);
}

/** a2a-go 2.3 has the scopes of a scheme in a list, where the contract has an object with a list. */
function mendRequirements(holder: Json): void {
  const { securityRequirements } = holder;
  if (!Array.isArray(securityRequirements)) return;
  for (const each of securityRequirements) {
    if (!isJsonObject(each) || !isJsonObject(each.schemes)) continue;
    each.schemes = mapped(each.schemes, (scopes) => (Array.isArray(scopes) ? { list: scopes } : scopes));
  }
}

/** `@a2a-js/sdk` 1.3 writes the card as it has it in memory, with `{ "scheme": { "$case": "x", "value": … } }` for `{ "x": … }`. */
function mendScheme(json: unknown): unknown {
  const scheme = chosen(json, "scheme");
  if (!isJsonObject(scheme) || !isJsonObject(scheme.oauth2SecurityScheme)) return scheme;
  const oauth2 = scheme.oauth2SecurityScheme;
  return { ...scheme, oauth2SecurityScheme: { ...oauth2, flows: chosen(oauth2.flows, "flow") } };
}

function chosen(json: unknown, member: string): unknown {
  const choice = isJsonObject(json) ? json[member] : undefined;
  return isJsonObject(choice) && typeof choice.$case === "string" ? { [choice.$case]: choice.value } : json;
}

function mapped(json: Json, map: (value: unknown) => unknown): Json {
  const result: Json = {};
  for (const [name, value] of Object.entries(json)) setOwn(result, name, map(value));
  return result;
}
