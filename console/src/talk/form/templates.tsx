import {
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type DescriptionFieldProps,
  descriptionId,
  errorId,
  type FieldErrorProps,
  type FieldTemplateProps,
  type IconButtonProps,
  type ObjectFieldTemplateProps,
  type TemplatesType,
} from "@rjsf/utils";
import { ArrowDown, ArrowUp, Copy, type LucideIcon, Plus, X } from "lucide-react";
import type { ReactNode } from "react";
import { talkWords } from "../../texts/talk.js";
import { Button } from "../../ui/parts.js";
import css from "../talk.module.css";
import { BaseInput } from "./widgets.js";

const { form } = talkWords;

/** Kinds of fields that name themselves: groups by their legend, and boxes to tick by their label. */
const namesItself = (type: unknown): boolean => type === "object" || type === "array" || type === "boolean";

function Field(props: FieldTemplateProps): ReactNode {
  const { id, label, children, errors, description, hidden, required, displayLabel, schema, rawDescription } = props;
  if (hidden) return <div hidden>{children}</div>;
  const isNamed = displayLabel !== true || namesItself(schema.type);
  return (
    <div className={css.fieldBox}>
      {!isNamed && (
        <label htmlFor={id}>
          {label} {!required && <span className={css.optional}>({form.optional})</span>}
        </label>
      )}
      {!isNamed && rawDescription !== undefined && rawDescription !== "" && description}
      {children}
      {errors}
    </div>
  );
}

function Description({ id, description }: DescriptionFieldProps): ReactNode {
  if (typeof description !== "string" || description === "") return undefined;
  return (
    <p id={id} className={css.help}>
      {description.slice(0, 2_000)}
    </p>
  );
}

function FieldErrors({ errors = [], fieldPathId }: FieldErrorProps): ReactNode {
  if (errors.length === 0) return undefined;
  return (
    <ul id={errorId(fieldPathId)} className={css.fault}>
      {errors.map((error, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: errors have no other identity.
        <li key={at}>{error}</li>
      ))}
    </ul>
  );
}

function ObjectGroup({ title, description, properties, fieldPathId }: ObjectFieldTemplateProps): ReactNode {
  return (
    <fieldset className={css.formGroup} id={fieldPathId.$id}>
      {title !== "" && <legend className={css.legend}>{title}</legend>}
      {typeof description === "string" && description !== "" && (
        <p id={descriptionId(fieldPathId)} className={css.help}>
          {description.slice(0, 2_000)}
        </p>
      )}
      {properties.map(({ name, content }) => (
        <div key={name}>{content}</div>
      ))}
    </fieldset>
  );
}

function List({
  title,
  items,
  canAdd,
  onAddClick,
  fieldPathId,
  disabled,
  readonly,
}: ArrayFieldTemplateProps): ReactNode {
  return (
    <fieldset className={css.formGroup} id={fieldPathId.$id}>
      {title !== "" && <legend className={css.legend}>{title}</legend>}
      {items}
      {canAdd === true && (
        <div>
          <Button disabled={disabled === true || readonly === true} onClick={onAddClick}>
            <Plus size={14} aria-hidden="true" />
            {form.add}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

function Item({ children, buttonsProps, hasToolbar }: ArrayFieldItemTemplateProps): ReactNode {
  const { hasRemove, onRemoveItem, hasMoveUp, onMoveUpItem, hasMoveDown, onMoveDownItem, disabled } = buttonsProps;
  return (
    <div className={css.item}>
      <div>{children}</div>
      {hasToolbar && (
        <div>
          {hasMoveUp && <ItemButton icon={ArrowUp} title={form.moveUp} isOff={disabled} onClick={onMoveUpItem} />}
          {hasMoveDown && (
            <ItemButton icon={ArrowDown} title={form.moveDown} isOff={disabled} onClick={onMoveDownItem} />
          )}
          {hasRemove && <ItemButton icon={X} title={form.removeItem} isOff={disabled} onClick={onRemoveItem} />}
        </div>
      )}
    </div>
  );
}

interface ItemButtonProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly isOff: boolean | undefined;
  readonly onClick: () => void;
}

function ItemButton({ icon: Icon, title, isOff = false, onClick }: ItemButtonProps): ReactNode {
  return (
    <Button kind="plain" icon title={title} disabled={isOff} onClick={onClick}>
      <Icon size={14} aria-hidden="true" />
    </Button>
  );
}

const iconButton =
  (Icon: LucideIcon, title: string) =>
  ({ onClick, disabled = false }: IconButtonProps): ReactNode => (
    <Button kind="plain" icon title={title} disabled={disabled} onClick={onClick}>
      <Icon size={14} aria-hidden="true" />
    </Button>
  );

/** The parts of forms in the console's look. */
export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> & {
  ButtonTemplates: Partial<TemplatesType["ButtonTemplates"]>;
} = {
  FieldTemplate: Field,
  DescriptionFieldTemplate: Description,
  FieldErrorTemplate: FieldErrors,
  ObjectFieldTemplate: ObjectGroup,
  ArrayFieldTemplate: List,
  ArrayFieldItemTemplate: Item,
  BaseInputTemplate: BaseInput,
  ButtonTemplates: {
    AddButton: iconButton(Plus, form.add),
    RemoveButton: iconButton(X, form.removeItem),
    CopyButton: iconButton(Copy, form.copyItem),
    MoveUpButton: iconButton(ArrowUp, form.moveUp),
    MoveDownButton: iconButton(ArrowDown, form.moveDown),
  },
};
