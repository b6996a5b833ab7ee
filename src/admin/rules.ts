import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Rule } from "../service/rules.js";
import { fieldValue } from "../wire/field-rules.js";
import { adminBounds } from "./limits.js";

/** Texts whose length only the size of the request limits: an export of a task. */
const long = new Set(["parley.admin.v1.ImportTaskRequest.lines"]);

/** Returns the rule for the sizes of a message's fields: the length of its texts and the number of items in its lists. */
export function sizeRule(desc: DescMessage): Rule | undefined {
  const texts = desc.fields.filter((field) => isText(field) && !long.has(`${desc.typeName}.${field.name}`));
  const lists = desc.fields.filter(({ fieldKind }) => fieldKind === "list");
  if (texts.length + lists.length === 0) return undefined;
  const { textLength, items } = adminBounds;
  return (message, report) => {
    for (const field of texts) {
      const value = fieldValue(message, field);
      if (typeof value === "string" && value.length > textLength) {
        report(field.jsonName, `must have at most ${textLength} characters`);
      }
    }
    for (const field of lists) {
      const value = fieldValue(message, field);
      if (Array.isArray(value) && value.length > items) report(field.jsonName, `must have at most ${items} items`);
    }
  };
}

function isText(field: DescField): boolean {
  return field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
}
