//! `CustomResourceDefinition`s and their schemas: the validation of the API server when one is created.

mod crd_api_version_unserved;
mod crd_category_invalid;
mod crd_conversion_review_versions;
mod crd_conversion_strategy_invalid;
mod crd_conversion_webhook_invalid;
mod crd_conversion_webhook_unused;
mod crd_deprecation_warning_invalid;
mod crd_field_type;
mod crd_field_unknown;
mod crd_group_invalid;
mod crd_group_protected;
mod crd_kind_invalid;
mod crd_list_kind_invalid;
mod crd_name_mismatch;
mod crd_namespace_set;
mod crd_plural_invalid;
mod crd_preserve_unknown_fields;
mod crd_printer_column_invalid;
mod crd_scale_path_invalid;
mod crd_schema_missing;
mod crd_scope_invalid;
mod crd_selectable_field_invalid;
mod crd_short_name_invalid;
mod crd_singular_invalid;
mod crd_storage_version;
mod crd_version_duplicate;
mod crd_version_name_invalid;
mod crd_version_unserved;
mod crd_versions_missing;
mod default;
mod schema_additional_at_resource;
mod schema_default_breaks_rule;
mod schema_default_forbidden;
mod schema_default_invalid;
mod schema_default_metadata_invalid;
mod schema_default_unknown_field;
mod schema_default_unverified;
mod schema_embedded_resource_invalid;
mod schema_format_unknown;
mod schema_int_or_string_conflict;
mod schema_items_list;
mod schema_items_missing;
mod schema_junctor_keyword;
mod schema_junctor_metadata;
mod schema_junctor_undeclared;
mod schema_keyword_forbidden;
mod schema_keyword_type;
mod schema_keyword_unknown;
mod schema_list_items_nullable;
mod schema_list_map_items;
mod schema_list_map_key_duplicate;
mod schema_list_map_key_invalid;
mod schema_list_map_key_undeclared;
mod schema_list_map_keys_missing;
mod schema_list_map_keys_unused;
mod schema_list_set_items;
mod schema_list_type_invalid;
mod schema_map_type_invalid;
mod schema_metadata_restricted;
mod schema_pattern_invalid;
mod schema_preserve_unknown_fields_false;
mod schema_properties_and_additional;
mod schema_resource_field_type;
mod schema_root_keyword;
mod schema_root_nullable;
mod schema_root_type;
mod schema_rule_field_path_invalid;
mod schema_rule_invalid;
mod schema_rule_message_expression_invalid;
mod schema_rule_message_invalid;
mod schema_rule_optional_old_self_unused;
mod schema_rule_reason_unknown;
mod schema_rules_too_expensive;
mod schema_type_missing;
mod schema_type_unsupported;
mod shape;

use super::Rule;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &crd_api_version_unserved::RULE,
    &crd_category_invalid::RULE,
    &crd_conversion_review_versions::RULE,
    &crd_conversion_strategy_invalid::RULE,
    &crd_conversion_webhook_invalid::RULE,
    &crd_conversion_webhook_unused::RULE,
    &crd_deprecation_warning_invalid::RULE,
    &crd_field_type::RULE,
    &crd_field_unknown::RULE,
    &crd_group_invalid::RULE,
    &crd_group_protected::RULE,
    &crd_kind_invalid::RULE,
    &crd_list_kind_invalid::RULE,
    &crd_name_mismatch::RULE,
    &crd_namespace_set::RULE,
    &crd_plural_invalid::RULE,
    &crd_preserve_unknown_fields::RULE,
    &crd_printer_column_invalid::RULE,
    &crd_scale_path_invalid::RULE,
    &crd_schema_missing::RULE,
    &crd_scope_invalid::RULE,
    &crd_selectable_field_invalid::RULE,
    &crd_short_name_invalid::RULE,
    &crd_singular_invalid::RULE,
    &crd_storage_version::RULE,
    &crd_version_duplicate::RULE,
    &crd_version_name_invalid::RULE,
    &crd_version_unserved::RULE,
    &crd_versions_missing::RULE,
    &schema_additional_at_resource::RULE,
    &schema_default_breaks_rule::RULE,
    &schema_default_forbidden::RULE,
    &schema_default_invalid::RULE,
    &schema_default_metadata_invalid::RULE,
    &schema_default_unknown_field::RULE,
    &schema_default_unverified::RULE,
    &schema_embedded_resource_invalid::RULE,
    &schema_format_unknown::RULE,
    &schema_int_or_string_conflict::RULE,
    &schema_items_list::RULE,
    &schema_items_missing::RULE,
    &schema_junctor_keyword::RULE,
    &schema_junctor_metadata::RULE,
    &schema_junctor_undeclared::RULE,
    &schema_keyword_forbidden::RULE,
    &schema_keyword_type::RULE,
    &schema_keyword_unknown::RULE,
    &schema_list_items_nullable::RULE,
    &schema_list_map_items::RULE,
    &schema_list_map_key_duplicate::RULE,
    &schema_list_map_key_invalid::RULE,
    &schema_list_map_key_undeclared::RULE,
    &schema_list_map_keys_missing::RULE,
    &schema_list_map_keys_unused::RULE,
    &schema_list_set_items::RULE,
    &schema_list_type_invalid::RULE,
    &schema_map_type_invalid::RULE,
    &schema_metadata_restricted::RULE,
    &schema_pattern_invalid::RULE,
    &schema_preserve_unknown_fields_false::RULE,
    &schema_properties_and_additional::RULE,
    &schema_resource_field_type::RULE,
    &schema_root_keyword::RULE,
    &schema_root_nullable::RULE,
    &schema_root_type::RULE,
    &schema_rule_field_path_invalid::RULE,
    &schema_rule_invalid::RULE,
    &schema_rule_message_expression_invalid::RULE,
    &schema_rule_message_invalid::RULE,
    &schema_rule_optional_old_self_unused::RULE,
    &schema_rule_reason_unknown::RULE,
    &schema_rules_too_expensive::RULE,
    &schema_type_missing::RULE,
    &schema_type_unsupported::RULE,
];
