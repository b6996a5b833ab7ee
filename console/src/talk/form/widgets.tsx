import {
  type BaseInputTemplateProps,
  errorId,
  getInputProps,
  type RegistryWidgetsType,
  type WidgetProps,
} from "@rjsf/utils";
import type { ReactNode } from "react";
import { talkWords } from "../../texts/talk.js";
import { css as ui } from "../../ui/parts.js";
import css from "../talk.module.css";

const { form } = talkWords;

/** Attributes of a field for screen readers: its faults, and whether it needs a value. */
function described({ id, rawErrors, required }: Pick<WidgetProps, "id" | "rawErrors" | "required">): object {
  const hasFault = rawErrors !== undefined && rawErrors.length > 0;
  return {
    "aria-required": required === true,
    "aria-invalid": hasFault,
    ...(hasFault && { "aria-describedby": errorId(id) }),
  };
}

/** Types of inputs for formats of texts that are not those of JSON Schema, such as in the first samples of A2A. */
const inputTypes: Partial<Record<string, string>> = {
  ...{ number: "number", integer: "number", tel: "tel", phone: "tel", url: "url", month: "month", week: "week" },
};

/** All inputs of one line: texts, numbers, dates. */
export function BaseInput(props: BaseInputTemplateProps): ReactNode {
  const { id, value, readonly, disabled, onChange, onChangeOverride, onBlur, schema, options, type, placeholder } =
    props;
  const { step, ...input } = getInputProps(schema, type ?? inputTypes[schema.format ?? ""], options);
  return (
    <input
      id={id}
      className={ui.input}
      {...input}
      {...(step !== undefined && { step })}
      value={value ?? ""}
      readOnly={readonly === true || schema.const !== undefined}
      disabled={disabled}
      placeholder={placeholder}
      autoComplete="off"
      onChange={
        onChangeOverride ?? ((event) => onChange(event.target.value === "" ? options.emptyValue : event.target.value))
      }
      onBlur={(event) => onBlur(id, event.target.value)}
      {...described(props)}
    />
  );
}

function Textarea(props: WidgetProps): ReactNode {
  const { id, value, readonly, disabled, onChange, options } = props;
  return (
    <textarea
      id={id}
      className={ui.input}
      rows={4}
      value={value ?? ""}
      readOnly={readonly}
      disabled={disabled}
      onChange={(event) => onChange(event.target.value === "" ? options.emptyValue : event.target.value)}
      {...described(props)}
    />
  );
}

function Checkbox(props: WidgetProps): ReactNode {
  const { id, value, readonly, disabled, label, onChange, schema } = props;
  return (
    <>
      <label className={css.choice}>
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          disabled={disabled === true || readonly === true}
          onChange={(event) => onChange(event.target.checked)}
          {...described(props)}
        />
        <span>{label}</span>
      </label>
      {schema.description !== undefined && <p className={css.help}>{schema.description.slice(0, 2_000)}</p>}
    </>
  );
}

/** Values by their place, because they may be of any type. */
function Select(props: WidgetProps): ReactNode {
  const { id, value, readonly, disabled, multiple = false, options, onChange } = props;
  const all = options.enumOptions ?? [];
  const isChosen = (each: unknown): boolean =>
    multiple ? Array.isArray(value) && value.includes(each) : JSON.stringify(each) === JSON.stringify(value);
  const places = all.flatMap((each, at) => (isChosen(each.value) ? [String(at)] : []));
  return (
    <select
      id={id}
      className={ui.input}
      multiple={multiple}
      value={multiple ? places : (places[0] ?? "")}
      disabled={disabled === true || readonly === true}
      onChange={({ target }) => {
        const chosen = [...target.selectedOptions].map((option) => all[Number(option.value)]?.value);
        onChange(multiple ? chosen : target.value === "" ? options.emptyValue : chosen[0]);
      }}
      {...described(props)}
    >
      {!multiple && <option value="">{form.choose}</option>}
      {all.map(({ label }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the place is the value.
        <option key={at} value={at}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** Several values of a list, each as a box to tick. */
function Checkboxes({ id, value, disabled, readonly, options, onChange }: WidgetProps): ReactNode {
  const chosen: readonly unknown[] = Array.isArray(value) ? value : [];
  return (
    <div id={id}>
      {(options.enumOptions ?? []).map(({ value: each, label }) => (
        <label key={label} className={css.choice}>
          <input
            type="checkbox"
            checked={chosen.includes(each)}
            disabled={disabled === true || readonly === true}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, each] : chosen.filter((other) => other !== each))
            }
          />
          <span>{label}</span>
        </label>
      ))}
    </div>
  );
}

/** The fields of forms in the console's look. */
export const widgets: RegistryWidgetsType = {
  CheckboxWidget: Checkbox,
  CheckboxesWidget: Checkboxes,
  RadioWidget: Select,
  SelectWidget: Select,
  TextareaWidget: Textarea,
};
