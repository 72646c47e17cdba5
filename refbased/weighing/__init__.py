"""What an edit weighs: the change it makes to BERTScore or BARTScore."""
