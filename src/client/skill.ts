import { type ContextKey, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";

/** Id of the skill that a call is for, which its credentials depend on. */
export const skillKey: ContextKey<string> = /* @__PURE__ */ createContextKey("", { description: "skill" });

/** What calls for a skill are told besides; nothing where none is named. */
export interface OfSkill {
  readonly contextValues?: ContextValues;
}

const ofNone: OfSkill = {};

/** Options of a call that tell `authentication` its skill. */
export function ofSkill(skill: string | undefined): OfSkill {
  return skill === undefined ? ofNone : { contextValues: createContextValues().set(skillKey, skill) };
}
